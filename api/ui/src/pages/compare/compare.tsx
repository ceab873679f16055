// Two or more runs beside each other: what differs, and whether the difference is real.
import { useSignal } from "@preact/signals";
import { Curves } from "../../plot/curves.tsx";
import { address } from "../../state/address.ts";
import * as f from "../../state/format.ts";
import { query } from "../../state/route.ts";
import { useAnswer, type Asked } from "../answer.ts";
import { calledOf, Facts, Heading, plain, Refusal, Section, States, Table, type Column } from "../kit.tsx";
import { points } from "../run/curves.tsx";
import type { Compared, Comparison, Curve, Pair, Run, SharedTrades } from "../shapes.ts";
import { differs, sentence } from "./sentences.ts";
import { Sources } from "./source.tsx";

export function Compare() {
  const ids = (query.value.get("ids") ?? "").split(",").filter(Boolean), asked = ids.map(encodeURIComponent).join(",");
  return (
    <>
      <Heading>Compare runs</Heading>
      {ids.length > 1 ? <Answered key={asked} ids={ids} path={"/compare?ids=" + asked} />
        : <p class="panel none">Select two to eight runs in the <a href={address("runs")}>list of runs</a>.</p>}
    </>
  );
}

function Answered({ ids, path }: { ids: string[]; path: string }) {
  const asked = useAnswer<Comparison>(path), curves = ids.map((id) => useAnswer<Curve>(`/runs/${encodeURIComponent(id)}/equity?points=400`));
  const runs = ids.map((id) => useAnswer<Run>(`/runs/${encodeURIComponent(id)}`));
  return <States of={asked} what="comparison">{(c) => <Shown of={c} ids={ids} curves={curves} runs={runs} />}</States>;
}

interface Props {
  of: Comparison;
  ids: string[];
  curves: Asked<Curve>[];
  runs: Asked<Run>[];
}

function Shown({ of: c, ids, curves, runs: asked }: Props) {
  const log = useSignal(false), nth = (id: string) => `Run ${ids.indexOf(id) + 1}`;
  const first = asked[0]?.answer.value.value;
  const rowOf = (r: Compared) => asked[ids.indexOf(r.run_id)]?.answer.value.value;
  const pairs: Column<Pair>[] = [
    { key: "run", head: "Run", cell: (p) => nth(p.run_id) },
    { key: "mean", head: "Mean difference of a return", number: true, cell: (p) => f.signedPercent(p.mean_difference, 4) },
    { key: "ci", head: "95 % interval", number: true, cell: (p) => (p.ci95 ? `${f.signedPercent(p.ci95[0], 4)} to ${f.signedPercent(p.ci95[1], 4)}` : f.missing) },
    { key: "p", head: "p", number: true, cell: (p) => f.ratio(p.p, 3) },
    { key: "days", head: "Days", number: true, cell: (p) => f.count(p.days) },
    { key: "needed", head: "Days needed", number: true, cell: (p) => f.count(p.days_needed) },
    { key: "said", head: "Difference", cell: (p) => differs(p) },
  ];
  const runs: Column<Compared>[] = [
    { key: "nth", head: "Run", cell: (r) => <a href={address("run", r.run_id)} title={r.run_id}>{nth(r.run_id)}{r.run_id === c.baseline && ", baseline"}</a> },
    { key: "status", head: "Status", cell: (r) => r.status },
    { key: "return", head: "Return", number: true, cell: (r) => f.signedPercent(r.metrics.total_return) },
    { key: "holding", head: "Holding", number: true, cell: (r) => f.signedPercent(rowOf(r)?.holding_return) },
    { key: "drawdown", head: "Max drawdown", number: true, cell: (r) => f.percent(r.metrics.max_drawdown) },
    { key: "sharpe", head: "Sharpe", number: true, cell: (r) => f.ratio(r.metrics.sharpe_ratio) },
    { key: "trades", head: "Trades", number: true, cell: (r) => f.count(r.metrics.total_trades) },
    { key: "trial", head: "Trial", number: true, cell: ({ selection: { trials } }) => (trials ? `${f.count(trials.position)} of ${f.count(trials.n)}` : "–") },
    { key: "verdict", head: "Falsification", cell: (r) => { const x = r.falsification ?? rowOf(r)?.verdict; return x ? <a href={address("falsification", x.run_id)}>{f.words(x.overall)}</a> : "not tested"; } },
  ];
  const values: Column<Comparison["differs"][number]>[] = [
    { key: "pointer", head: "What", cell: (d) => <bdi>{d.pointer}</bdi> },
    ...ids.map((id, i) => ({ key: id, head: `Run ${i + 1}`, cell: (d: Comparison["differs"][number]) => <bdi>{plain(d.values[id])}</bdi> })),
  ];
  const drawn = curves.flatMap(({ answer: { value: { value } } }, i) => (value ? [{ name: `Run ${i + 1}`, points: points(value.items), color: i % 7 }] : []));
  return (
    <>
      {first && <p class="caption">Runs of <bdi title={first.slug}>{calledOf(first)}</bdi></p>}
      <Section name="Is it real">
        <p class="sentence">{sentence(c)}</p>
        {!c.comparability.comparable && <p class="notes">The runs differ in what has to be equal, {c.comparability.differences.map((d) => f.words(d.aspect).toLowerCase()).join(", ")}: their numbers do not mean the same.</p>}
        {c.pairs.length > 0 && <Table name="Differences from the baseline" rows={c.pairs} columns={pairs} id={(p) => p.run_id} />}
      </Section>
      <Section name="Runs">
        <p class="caption">Metrics of the split {f.words(c.split).toLowerCase()}</p>
        <Table name="Runs" rows={ids.flatMap((id) => c.runs.filter((r) => r.run_id === id))} columns={runs} id={(r) => r.run_id} />
        <Facts of={ids.map((id, i) => [`Run ${i + 1}`, <code>{id}</code>])} />
      </Section>
      <Section name="Equity" aside={<label class="switch"><input type="checkbox" checked={log.value} onChange={(e) => (log.value = e.currentTarget.checked)} />Logarithmic</label>}>
        {curves.map(({ answer: { value: { error } }, again }, i) => error && <Refusal key={ids[i]} error={error} what={`curve of run ${i + 1}`} again={again} />)}
        <Curves label={`Equity of ${drawn.length} runs`} log={log.value} height={260} format={f.count} series={drawn} />
      </Section>
      <Section name="What differs">
        {c.differs.length > 0 ? <Table name="What differs" rows={c.differs} columns={values} id={(d) => d.pointer} /> : <p>Nothing that is compared differs.</p>}
      </Section>
      <Sources program={c.program} nth={nth} />
      <Trades of={c.trades} nth={nth} />
    </>
  );
}

/** The trades that the runs share, and the first of those that they do not. */
function Trades({ of: { common, only, differing, differing_total: parted, unread }, nth }: { of: SharedTrades; nth: (id: string) => string }) {
  if (unread.length > 0) return <Section name="Trades"><p>No trades of {unread.map((id) => nth(id).toLowerCase()).join(", ")} are kept or can be read: nothing to compare.</p></Section>;
  const columns: Column<SharedTrades["differing"][number]>[] = [
    { key: "run", head: "Run", cell: (p) => nth(p.run_id) },
    { key: "entry", head: "Entry", tight: true, cell: (p) => f.time(p.trade.entry_time) },
    { key: "exit", head: "Exit", tight: true, cell: (p) => f.time(p.trade.exit_time) },
    { key: "symbol", head: "Symbol", cell: (p) => <bdi>{p.trade.symbol}</bdi> },
    { key: "direction", head: "Direction", cell: (p) => p.trade.direction },
    { key: "return", head: "Return", number: true, cell: (p) => <span class={f.tone(p.trade.return)}>{f.signedPercent(p.trade.return)}</span> },
    { key: "reason", head: "Reason", cell: (p) => f.words(p.trade.exit_reason) },
  ];
  return (
    <Section name="Trades">
      <p>{f.count(common)} {common === 1 ? "trade is" : "trades are"} the same in all runs; {only.map((o) => `${nth(o.run_id).toLowerCase()} has ${f.count(o.alone)} of ${f.count(o.of)} alone`).join(", ")}.</p>
      {parted > 0 && <Table name="Trades that not all runs have" rows={differing} columns={columns} id={(p) => `${p.run_id} ${p.trade.trade_id}`} />}
      {parted > differing.length && <p class="caption">The first {differing.length} of {f.count(parted)} that not all runs have.</p>}
    </Section>
  );
}
