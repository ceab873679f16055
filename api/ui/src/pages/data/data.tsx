// The stored candles: what there is, where it has gaps, what is held out, where it comes from; and how more come in.
import { Copy } from "../../panels/copy.tsx";
import * as f from "../../state/format.ts";
import { fragment, keep } from "../../state/route.ts";
import { loadLists } from "../../state/session.ts";
import { useAnswer } from "../answer.ts";
import { JobsPanel } from "../jobs.tsx";
import { Facts, Heading, Section, States, Table, type Column } from "../kit.tsx";
import { firstPage, Paged } from "../paged.tsx";
import type { Dataset, DatasetDetail, Gap, List } from "../shapes.ts";
import { Fetch, Update } from "./fetch.tsx";
import { Import } from "./import.tsx";

export function Data() {
  const asked = useAnswer<List<Dataset>>("/datasets?limit=200"), chosen = fragment.value.get("dataset") ?? "";
  const name: Column<Dataset> = {
    key: "symbol", head: "Symbol",
    cell: (d) => <button type="button" class="quiet" aria-pressed={d.dataset_id === chosen} onClick={() => keep({ dataset: d.dataset_id, ...firstPage("gaps") })}><bdi>{d.symbol}</bdi></button>,
  };
  const stored = () => {
    asked.again();
    loadLists(); // the form of the runner offers it
  };
  const update: Column<Dataset> = { key: "update", head: "Newer candles", cell: (d) => (d.provenance.source === "fetched" ? <Update of={d} stored={stored} /> : "") };
  return (
    <>
      <Heading>Data</Heading>
      <JobsPanel />
      <States of={asked} what="datasets" empty={({ items }) => items.length === 0 && <p>No candles are stored yet.</p>}>
        {(list) => (
          <Section name="Datasets" aside={list.items.length < list.total && <span>the first {f.count(list.items.length)} of {f.count(list.total)}</span>}>
            <Table name="Datasets" rows={list.items} id={(d) => d.dataset_id} selected={new Set([chosen])} columns={[name, ...columns, update]} />
          </Section>
        )}
      </States>
      {chosen && <One key={chosen} id={chosen} />}
      <Import stored={stored} />
      <Fetch stored={stored} />
    </>
  );
}

const columns: Column<Dataset>[] = [
  { key: "timeframe", head: "Timeframe", cell: (d) => d.timeframe },
  { key: "exchange", head: "Exchange", cell: (d) => <bdi>{d.exchange}</bdi> },
  { key: "first", head: "First", tight: true, cell: (d) => f.time(d.first) },
  { key: "last", head: "Last", tight: true, cell: (d) => f.time(d.last) },
  { key: "rows", head: "Candles", number: true, cell: (d) => f.count(d.rows) },
  { key: "missing", head: "Missing", number: true, cell: (d) => f.count(d.missing) },
  { key: "coverage", head: "Coverage", cell: (d) => <Coverage of={d} /> },
  { key: "holdout", head: "Held out from", tight: true, cell: (d) => f.time(d.holdout_start) },
  { key: "looks", head: "Looks", number: true, cell: (d) => f.count(d.looks) },
  { key: "source", head: "Source", cell: (d) => d.provenance.source },
];

/** A bar from the first candle to the last: a stretch that lacks some is lower and of another colour. */
function Coverage({ of: { coverage, missing, rows, holdout_start, first, last } }: { of: Dataset }) {
  const words = `${f.percent(rows / (rows + missing), 2)} of the candles`;
  const ms = Date.parse, held = holdout_start && ms(last) > ms(first) ? (ms(holdout_start) - ms(first)) / (ms(last) - ms(first)) : 1;
  return (
    <svg class="coverage" viewBox={`0 0 ${coverage.length} 10`} preserveAspectRatio="none" role="img" aria-label={words}>
      <title>{words}</title>
      {coverage.map((share, i) => <rect key={i} x={i} y={10 - 10 * share} width="1.02" height={10 * share} class={share < 1 ? "part" : i / coverage.length >= held ? "held" : undefined} />)}
    </svg>
  );
}

const gaps: Column<Gap>[] = [
  { key: "from", head: "From", tight: true, cell: (g) => f.time(g.from) },
  { key: "to", head: "To", tight: true, cell: (g) => f.time(g.to) },
  { key: "candles", head: "Candles", number: true, cell: (g) => f.count(g.candles) },
];

function One({ id }: { id: string }) {
  const path = "/datasets/" + encodeURIComponent(id), asked = useAnswer<DatasetDetail>(path);
  return (
    <States of={asked} what="dataset">
      {(d) => (
        <>
          <Section name="Dataset">
            <Facts of={facts(d)} />
            {d.looks > 0 && <p class="caption">Each look at held out candles makes them worth less: <code>lab data holdout --looks</code> lists them.</p>}
          </Section>
          <Section name="Gaps"><Paged path={path + "/gaps"} what="gaps" of="dataset" columns={gaps} id={(g: Gap) => g.from} /></Section>
        </>
      )}
    </States>
  );
}

function facts({ dataset_id, sha256, calendar, provenance: p }: DatasetDetail): [string, preact.ComponentChildren][] {
  const list: [string, preact.ComponentChildren][] = [
    ["Id", <code>{dataset_id}</code>], ["SHA-256", <><code title={sha256}>{f.shortId(sha256, 16)}</code><Copy text={sha256} what="hash of the candles" /></>],
    ["Calendar", calendar], ["Source", p.source], ["Stored", `${f.time(p.stored_at)} UTC`],
  ];
  if (p.format) list.push(["Format", <bdi>{p.format}</bdi>]);
  if (p.connector) list.push(["Fetched by", <bdi>{p.connector}</bdi>]);
  if (p.derived_from) list.push(["Resampled from", <code title={p.derived_from}>{f.shortId(p.derived_from, 16)}</code>]);
  return list;
}
