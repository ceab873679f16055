// The stored candles: what there is, where it has gaps, and how more comes in.
import { useState } from "preact/hooks";
import { send } from "../../api/client.ts";
import { count, time } from "../../state/format.ts";
import { useAnswer } from "../answer.ts";
import type { Asked } from "../answer.ts";
import { JobLine, JobsPanel } from "../jobs.tsx";
import { Act, Facts, Heading, plain, Section, States, Table } from "../kit.tsx";
import type { Column } from "../kit.tsx";
import type { Job, List } from "../shapes.ts";
import { Fetch } from "./fetch.tsx";
import { Import } from "./import.tsx";
import { shareOf } from "./shapes.ts";
import type { Dataset, Gap } from "./shapes.ts";

export function Data() {
  const asked = useAnswer<List<Dataset>>("/datasets?limit=200", 30_000);
  const [chosen, choose] = useState("");
  return (
    <>
      <Heading>Data</Heading>
      <JobsPanel />
      <States of={asked} what="list of datasets" empty={(list) => (list.items.length ? null : "No candles are stored yet. Import a file or fetch them below.")}>
        {(list) => (
          <Section name={`Datasets (${count(list.total)})`}>
            {list.items.length < list.total && <p class="caption">The first {count(list.items.length)} are shown.</p>}
            <Table name="Datasets" rows={list.items} id={(d) => d.dataset_id} selected={new Set([chosen])} columns={columns(asked, chosen, choose)} />
          </Section>
        )}
      </States>
      {chosen && <One key={chosen} id={chosen} />}
      <Import done={asked.again} />
      <Fetch />
    </>
  );
}

function columns(asked: Asked<List<Dataset>>, chosen: string, choose: (id: string) => void): Column<Dataset>[] {
  return [
    { key: "symbol", head: "Symbol", cell: (d) => <button type="button" class="quiet" aria-pressed={d.dataset_id === chosen} onClick={() => choose(d.dataset_id)}><bdi>{d.symbol}</bdi></button> },
    { key: "timeframe", head: "Timeframe", cell: (d) => d.timeframe },
    { key: "exchange", head: "Exchange", cell: (d) => <bdi>{d.exchange}</bdi> },
    { key: "first", head: "From, UTC", cell: (d) => time(d.first) },
    { key: "last", head: "To, UTC", cell: (d) => time(d.last) },
    { key: "rows", head: "Candles", number: true, cell: (d) => count(d.rows) },
    { key: "missing", head: "Missing", number: true, cell: (d) => <span class={d.missing > 0 ? "down" : undefined}>{count(d.missing)}</span> },
    { key: "coverage", head: "Coverage", cell: (d) => <Coverage of={d} /> },
    { key: "holdout", head: "Hold-out from, UTC", cell: (d) => (d.holdout_start ? <>{time(d.holdout_start)}{d.looks ? `, looked at ${count(d.looks)} times` : ""}</> : "none") },
    { key: "update", head: "Update", cell: (d) => <Update of={d} again={asked.again} /> },
  ];
}

/** A bar of the time from first to last: a bucket without all of its candles is a notch. */
function Coverage({ of: { coverage, missing, rows } }: { of: Dataset }) {
  const buckets = (coverage ?? []).map(shareOf), whole = rows + missing;
  const words = `${whole ? ((rows / whole) * 100).toFixed(2) : "0"} % of the candles`;
  if (!buckets.length) return <>{words}</>;
  return (
    <svg class="coverage" viewBox={`0 0 ${buckets.length} 10`} preserveAspectRatio="none" role="img" aria-label={words}>
      <title>{words}</title>
      {buckets.map((share, i) => <rect key={i} x={i} y={10 - 10 * share} width="1.02" height={10 * share} class={share < 1 ? "part" : undefined} />)}
    </svg>
  );
}

/** Fetches what has come since the last candle. */
function Update({ of: d, again }: { of: Dataset; again: () => void }) {
  const [job, setJob] = useState("");
  if (job) return <JobLine id={job} />;
  const act = async () => {
    const { job_id } = await send<Job>("POST", "/datasets/fetches", { exchange: d.exchange, symbols: [d.symbol], timeframe: d.timeframe, from: d.last });
    setJob(job_id);
    again();
  };
  return <Act act={act}>Update</Act>;
}

function One({ id }: { id: string }) {
  const path = "/datasets/" + encodeURIComponent(id);
  const asked = useAnswer<Dataset>(path), gaps = useAnswer<{ gaps?: Gap[]; items?: Gap[] }>(path + "/gaps");
  return (
    <Section name="Dataset">
      <States of={asked} what="dataset">
        {(d) => <Facts of={[["Id", <code>{d.dataset_id}</code>], ["SHA-256", <code>{d.sha256 ?? "n/a"}</code>], ["Calendar", plain(d.calendar ?? "n/a")], ["Comes from", plain(d.provenance ?? "n/a")], ...Object.entries(d.report ?? {}).map(([k, v]): [string, string] => [k, plain(v)])]} />}
      </States>
      <h4>Gaps</h4>
      <States of={gaps} what="list of gaps" empty={(g) => ((g.gaps ?? g.items ?? []).length ? null : "None.")}>
        {(g) => (
          <ul class="missing">
            {(g.gaps ?? g.items ?? []).slice(0, 200).map((gap, i) => <li key={i}>{time(gap.from ?? gap.start)} to {time(gap.to ?? gap.end)} UTC{(gap.candles ?? gap.missing) !== undefined && `, ${count(gap.candles ?? gap.missing)} candles`}</li>)}
          </ul>
        )}
      </States>
    </Section>
  );
}
