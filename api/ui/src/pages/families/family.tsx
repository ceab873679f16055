// One search: its plan, how far it is, and what its trials found.
import { useEffect, useMemo } from "preact/hooks";
import { Bars, binned } from "../../plot/bars.tsx";
import { Heat } from "../../plot/heat.tsx";
import { Parallel } from "../../plot/parallel.tsx";
import { Copy } from "../../panels/copy.tsx";
import { address } from "../../state/address.ts";
import * as f from "../../state/format.ts";
import { fragment, keep } from "../../state/route.ts";
import { called } from "../../state/store.ts";
import { useAnswer } from "../answer.ts";
import { Done, Facts, Heading, plain, Section, States, Table, Tiles, useLists, type Column } from "../kit.tsx";
import type { Family, FamilyResult, List, Trial } from "../shapes.ts";
import { Drawn } from "../run/curves.tsx";
import { curveOf } from "./optimised.ts";
import { best, byLuck, pace, planned, progressWords, resultOf, results, timeLeft, varying, type Result } from "./plan.ts";

export function FamilyPage({ id }: { id: string }) {
  const path = "/families/" + encodeURIComponent(id), asked = useAnswer<Family>(path, useMemo(pace, [path]));
  useLists();
  const trials = useAnswer<List<Trial>>(path + "/trials?limit=1000"), ended = asked.answer.value.value?.done;
  useEffect(() => {
    if (ended !== undefined && trials.answer.peek().value) trials.again();
  }, [ended]);
  return (
    <States of={asked} what="family">
      {(family) => {
        return (
          <>
            <Heading called={`Family ${called(family.slug)}`}>{called(family.slug)}</Heading>
            {family.result ? <Found result={family.result} sentence={family.sentence} /> : <Progress family={family} />}
            {family.result_damage && <p class="panel none refusal" role="alert">The result of the search cannot be shown: <bdi>{family.result_damage}</bdi>. Its plan and its trials are here.</p>}
            <States of={trials} what="trials" empty={({ items }) => items.length === 0 && <p>No trial has ended yet.</p>}>
              {({ items }) => <><Whole family={family} trials={items} path={path} /><Trials trials={items} family={family} /></>}
            </States>
            {family.result && <Progress family={family} />}

            <Plan family={family} />
          </>
        );
      }}
    </States>
  );
}

function Progress({ family }: { family: Family }) {
  const total = planned(family) ?? 0, again = `lab family run ${family.slug} --plan ${family.plan_id}`;
  return (
    <Section name="Progress">
      <p class="sentence">{family.plan?.hypothesis && <bdi>{family.plan.hypothesis}</bdi>}</p>
      {total > 0 &&
        <Done label="Trials" done={family.done} of={total} />}
      <p>{progressWords(family)} trials have ended. {timeLeft(family)} {family.result ? "" : "The best of many trials looks good by luck alone; the result will say how good. "}To run or continue the search: <code>{again}</code><Copy text={again} what="command of the search" /></p>
    </Section>
  );
}

/** What the search as a whole would have earned comes before what it has selected. */
function Found({ result: { status, selected, walk_forward_optimised: whole, selection }, sentence }: { result: FamilyResult; sentence: string | null }) {
  const gain = whole?.metrics?.total_return;
  return (
    <>
      <Tiles name="Result of the search" tiles={[
        { label: "Walk-forward optimised", value: f.signedPercent(gain), tone: f.tone(gain), note: "the whole search" },
        { label: "Sharpe of it", value: f.ratio(whole?.metrics?.sharpe_ratio) },
        { label: "Deflated Sharpe", value: f.percent(selection?.dsr_max, 1), note: "probability" },
        { label: "Overfitting", value: f.percent(selection?.pbo.value, 1), note: "PBO" },
        { label: "Trials", value: f.count(selection?.n_trials), note: "on these days" },
      ]} />
      <Section name="Verdict"><p class="sentence">{sentence}</p><p>{selected ? <>Selected by the plan's rule: <a href={address("run", selected.run_id)}>trial {selected.trial_index}</a>.</> : status === "aborted" ? "Too many trials failed: nothing is selected." : "No trial has the objective: nothing is selected."} The numbers above are of the search as a whole, each window played with what the training before it chose.</p></Section>
    </>
  );
}

/** What the search as a whole would have earned, window by window. */
function Whole({ family, trials, path }: { family: Family; trials: Trial[]; path: string }) {
  const windows = family.result?.walk_forward_optimised?.windows ?? [], cash = Number(family.plan?.request?.initial_cash ?? 0);
  const ask = useMemo(() => curveOf(windows, trials, cash), [family.result, trials]);
  return cash > 0 && windows.some((w) => w.chosen_trial !== null) ? <Drawn path={path} name="Walk-forward optimised" ask={ask} /> : null;
}

function Trials({ trials, family }: { trials: Trial[]; family: Family }) {
  const selected = family.result?.selected?.trial_index;
  const names = varying(trials), by = fragment.value;
  const key = results.find((r) => r === by.get("by")) ?? "sharpe_ratio";
  const x = names.find((n) => n === by.get("x")) ?? names[0], y = names.find((n) => n === by.get("y")) ?? names.find((n) => n !== x);
  const found = trials.flatMap((t) => resultOf(t, key) ?? []), format = (v: number) => (key === "sharpe_ratio" ? f.ratio(v) : f.percent(v, 1));
  const chosen = trials.find((t) => t.index === selected), at = chosen ? resultOf(chosen, key) : null;
  const marks = [
    ...(at === null ? [] : [{ at, words: `Trial ${selected}, which the plan's rule selects`, color: 0 }]),
    ...(family.luck && key === "sharpe_ratio" ? [{ at: family.luck.expected_max, words: "The best of so many without any skill", color: 2 }] : []),
  ];
  const numbers = names.filter((n) => trials.every((t) => typeof t.params[n] === "number"));
  const rows = trials.filter((t) => resultOf(t, key) !== null).map((t) => [...numbers.map((n) => Number(t.params[n])), resultOf(t, key) ?? 0]);
  return (
    <>
      <div class="panel toolbar">
        <Choice label="Result" name="by" value={key} of={[...results]} />
        {names.length > 1 && <><Choice label="Across" name="x" value={x ?? ""} of={names} /><Choice label="Up" name="y" value={y ?? ""} of={names} /></>}
      </div>
      {x && y && x !== y && <Section name={`Best for each ${x} and ${y}`}><Heat label={`Heat map of ${f.words(key)}: ${x} across, ${y} up`} cells={best(trials, x, y, key)} format={format} /></Section>}
      <Section name="The trials against luck"><Bars label={`Distribution of ${f.words(key)} over ${found.length} trials`} bins={binned(found)} marks={marks} format={format} />{key === "sharpe_ratio" && <p class="caption">{byLuck(family)}</p>}</Section>
      {numbers.length > 0 && rows.length > 1 && <Section name="Parallel coordinates"><Parallel label={`A line for each of ${rows.length} trials over ${numbers.join(", ")} and ${f.words(key)}`} of={{ names: [...numbers, f.words(key)], rows }} /></Section>}
      {trials.length < family.done && <p class="panel caption">The first {f.count(trials.length)} trials that have ended are drawn, of {f.count(family.done)}.</p>}
      <Section name="All trials"><Listed trials={trials} names={names} by={key} /></Section>
    </>
  );
}

function Choice({ label, name, value, of }: { label: string; name: string; value: string; of: string[] }) {
  return <label>{label} <select value={value} onChange={(e) => keep({ [name]: e.currentTarget.value })}>{of.map((o) => <option key={o} value={o}>{name === "by" ? f.words(o) : o}</option>)}</select></label>;
}

function Listed({ trials, names, by }: { trials: Trial[]; names: string[]; by: Result }) {
  const sign = by === "max_drawdown" ? 1 : -1;
  const rows = [...trials].sort((a, b) => sign * ((resultOf(a, by) ?? -sign * Infinity) - (resultOf(b, by) ?? -sign * Infinity)) || a.index - b.index).slice(0, 200);
  const columns: Column<Trial>[] = [
    { key: "index", head: "Trial", number: true, cell: (t) => (t.run_id ? <a href={address("run", t.run_id)}>{t.index}</a> : t.index) },
    ...names.map((n) => ({ key: "p:" + n, head: n, cell: (t: Trial) => <bdi>{plain(t.params[n])}</bdi> })),
    { key: "status", head: "Status", cell: (t) => t.status },
    { key: "sharpe", head: "Sharpe", number: true, cell: (t) => f.ratio(t.metrics.sharpe_ratio) },
    { key: "return", head: "Return", number: true, cell: (t) => f.signedPercent(t.metrics.total_return) },
    { key: "drawdown", head: "Max drawdown", number: true, cell: (t) => f.percent(t.metrics.max_drawdown) },
  ];
  return <>{trials.length > rows.length && <p class="caption">The best 200 of {f.count(trials.length)}.</p>}<Table name="Trials" rows={rows} columns={columns} id={(t) => String(t.index)} /></>;
}

function Plan({ family }: { family: Family }) {
  const entries = Object.entries(family.plan ?? {}).filter(([k]) => k !== "trials"), short = entries.filter(([, v]) => typeof v !== "object");
  return (
    <Section name="Plan">
      <Facts of={short.map(([k, v]) => [f.words(k), <bdi>{plain(v)}</bdi>])} />
      {entries.length > short.length && <details><summary>Request and rules</summary><pre class="tail" tabIndex={0}>{JSON.stringify(Object.fromEntries(entries.filter(([, v]) => typeof v === "object")), null, 2)}</pre></details>}
    </Section>
  );
}
