// The splits of a run. The locked one is shown when somebody gives a reason, which counts.
import { useSignal } from "@preact/signals";
import { send } from "../../api/client.ts";
import * as f from "../../state/format.ts";
import { Act, Section, Table, type Column } from "../kit.tsx";
import type { Asked } from "../answer.ts";
import type { Run, Split } from "../shapes.ts";

const columns: Column<Split>[] = [
  { key: "split", head: "Split", cell: (s) => <bdi>{s.split_id || s.role}</bdi> },
  { key: "from", head: "From", tight: true, cell: (s) => f.time(s.start) },
  { key: "to", head: "To", tight: true, cell: (s) => f.time(s.end) },
  { key: "status", head: "Status", cell: (s) => s.status },
  { key: "return", head: "Return", number: true, cell: (s) => f.signedPercent(s.metrics?.total_return) },
  { key: "holding", head: "Holding", number: true, cell: (s) => f.signedPercent(s.metrics?.buy_hold_return) },
  { key: "sharpe", head: "Sharpe", number: true, cell: (s) => (typeof s.metrics?.sharpe_stderr === "number" ? `${f.ratio(s.metrics.sharpe_ratio)} ± ${f.ratio(s.metrics.sharpe_stderr)}` : f.ratio(s.metrics?.sharpe_ratio)) },
  { key: "drawdown", head: "Max drawdown", number: true, cell: (s) => f.percent(s.metrics?.max_drawdown) },
  { key: "trades", head: "Trades", number: true, cell: (s) => f.count(s.metrics?.total_trades) },
];

export function Splits({ run, path, asked }: { run: Run; path: string; asked: Asked<Run> }) {
  const reason = useSignal("");
  if (!run.splits.length) return null;
  const reveal = async () => {
    await send("POST", path + "/reveal", { reason: reason.value.trim() });
    asked.again();
  };
  const locked = run.splits.some((s) => s.status === "locked");
  return (
    <Section name="Splits">
      <Table name="Splits" rows={run.splits as Split[]} columns={columns} id={(s) => s.split_id} />
      {locked && (
        <div class="fields">
          <p>The test split is locked. Looking at it is recorded, cannot be undone, and weakens every later choice on these candles.</p>
          <label>Reason for the look <input value={reason.value} onInput={(e) => (reason.value = e.currentTarget.value)} /></label>
          <Act act={reveal} danger disabled={reason.value.trim() === ""}>Reveal the test</Act>
        </div>
      )}
    </Section>
  );
}
