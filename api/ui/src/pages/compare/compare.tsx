// Two or more runs beside each other: what differs, and whether the difference is real.
import { useSignal } from "@preact/signals";
import { Curves } from "../../plot/curves.tsx";
import { address } from "../../state/address.ts";
import * as f from "../../state/format.ts";
import { query } from "../../state/route.ts";
import { useAnswer } from "../answer.ts";
import { Heading, plain, Section, States, Table, Tiles, type Column } from "../kit.tsx";
import type { Comparison } from "../shapes.ts";
import { all } from "../runs/columns.tsx";

export function Compare() {
  const ids = (query.value.get("ids") ?? "").split(",").filter(Boolean);
  const path = ids.length < 2 ? "" : "/compare?ids=" + ids.map(encodeURIComponent).join(",");
  const asked = useAnswer<Comparison>(path);
  return (
    <>
      <Heading>Compare runs</Heading>
      {path ? <States of={asked} what="comparison">{(c) => <Shown of={c} />}</States>
        : <p class="panel none">Select two to eight runs in the <a href={address("runs")}>list of runs</a>.</p>}
    </>
  );
}

const wanted = ["run", "strategy", "symbols", "return", "holding", "drawdown", "sharpe", "trades", "trial", "verdict", "test"];

function Shown({ of: c }: { of: Comparison }) {
  const log = useSignal(false), d = c.difference;
  const name = (i: number) => `${i + 1}: ${c.runs[i]?.strategy?.name ?? c.runs[i]?.run_id ?? ""}`;
  const parameters: Column<Comparison["parameters"][number]>[] = [
    { key: "name", head: "Parameter", cell: (p) => <bdi>{p.name}</bdi> },
    ...c.runs.map((r, i) => ({ key: r.run_id, head: `Run ${i + 1}`, cell: (p: Comparison["parameters"][number]) => <bdi>{plain(p.values[i])}</bdi> })),
  ];
  return (
    <>
      <Section name="Is it real">
        <p class="sentence"><bdi>{d?.sentence || "There is no common time on which the runs could be compared."}</bdi></p>
        {d && (
          <Tiles name="Difference" tiles={[
            { label: "Mean difference a day", value: f.signedPercent(d.mean, 4), note: d.ci95 ? `95 %: ${f.signedPercent(d.ci95[0], 4)} to ${f.signedPercent(d.ci95[1], 4)}` : "" },
            { label: "p", value: f.ratio(d.p, 3), note: "that it is no more than chance" },
            { label: "Days needed", value: f.count(d.days_needed) },
            { label: "Trials", value: f.count(c.n), note: "on these candles" },
          ]} />
        )}
      </Section>
      <Section name="Runs"><Table name="Runs" rows={c.runs} columns={all.filter((x) => wanted.includes(x.key))} id={(r) => r.run_id} /></Section>
      <Section name="Equity" aside={<label class="switch"><input type="checkbox" checked={log.value} onChange={(e) => (log.value = e.currentTarget.checked)} />Logarithmic</label>}>
        <Curves label={`Equity of ${c.runs.length} runs`} log={log.value} height={260} format={f.count} series={(c.equity ?? []).map((points, i) => ({ name: name(i), points, color: i % 7 }))} />
      </Section>
      <Section name="What differs">
        <Table name="Parameters" rows={c.parameters} columns={parameters} id={(p) => p.name} />
        <p>{c.program?.equal ? "The programs are the same." : "The programs differ."}</p>
        {c.program?.diff && <pre class="tail" tabIndex={0}>{c.program.diff}</pre>}
        {c.trades && <p>{f.count(c.trades.common)} trades in common; only in {c.trades.only.map((n, i) => `run ${i + 1}: ${f.count(n)}`).join(", ")}.</p>}
      </Section>
    </>
  );
}
