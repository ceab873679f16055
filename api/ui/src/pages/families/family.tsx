// One search: its plan, how far it is, what it found, and how much of that is luck.
import { useSignal } from "@preact/signals";
import { Bars, binned } from "../../plot/bars.tsx";
import { Curves } from "../../plot/curves.tsx";
import { Heat } from "../../plot/heat.tsx";
import { Parallel } from "../../plot/parallel.tsx";
import { address } from "../../state/address.ts";
import * as f from "../../state/format.ts";
import { fragment, keep } from "../../state/route.ts";
import { useAnswer } from "../answer.ts";
import { Facts, Heading, plain, Section, States, Table, Tiles, type Column } from "../kit.tsx";
import { points } from "../run/curves.tsx";
import type { Family, List, Trial } from "../shapes.ts";
import { best, idOf, progressOf, progressWords, resultOf, results, slugOf, varying, type Result } from "./plan.ts";

const every = 3000;

export function FamilyPage({ id }: { id: string }) {
  const path = "/families/" + encodeURIComponent(id), going = useSignal(true);
  const asked = useAnswer<Family>(path, going.value ? every : 0);
  const trials = useAnswer<List<Trial>>(path + "/trials?limit=1000", going.value ? every : 0);
  return (
    <States of={asked} what="family">
      {(family) => {
        const p = progressOf(family);
        if (p && p.done + p.failed >= p.total && going.peek()) queueMicrotask(() => (going.value = false));
        return (
          <>
            <Heading called={`Family ${slugOf(family)}`}>{slugOf(family) || idOf(family)}</Heading>
            <Verdict family={family} />
            <States of={trials} what="trials" empty={({ items }) => items.length === 0 && <p>No trial has ended yet.</p>}>
              {({ items }) => <Trials trials={items} family={family} />}
            </States>
            {(family.walk_forward_optimised?.length ?? 0) > 0 && (
              <Section name="Walk-forward, optimised anew in each fold">
                <Curves label="Equity of the walk-forward optimised strategy" height={220} format={f.count} series={[{ name: "Walk-forward optimised", points: points(family.walk_forward_optimised ?? []), color: 0 }]} />
              </Section>
            )}
            <Plan family={family} />
          </>
        );
      }}
    </States>
  );
}

function Verdict({ family }: { family: Family }) {
  const { luck } = family, p = progressOf(family);
  return (
    <Section name="What it shows">
      <p class="sentence"><bdi>{family.sentence || "The search has not ended: there is nothing to conclude yet."}</bdi></p>
      {p && p.total > 0 && (
        <div role="progressbar" aria-label="Trials" aria-valuemin={0} aria-valuemax={p.total} aria-valuenow={p.done}>
          <svg class="bar-done" viewBox={`0 0 ${p.total} 1`} preserveAspectRatio="none" aria-hidden="true"><rect width={p.done} height={1} /></svg>
        </div>
      )}
      <Tiles name="Numbers of the search" tiles={[
        { label: "Trials", value: progressWords(family) || f.missing },
        { label: "Best Sharpe found", value: f.ratio(luck?.observed) },
        { label: "Expected of luck alone", value: f.ratio(luck?.expected_max), note: "best of so many trials without any skill" },
        { label: "PBO", value: f.percent(family.pbo, 0), note: "probability that the best one is overfitted" },
        { label: "Deflated Sharpe", value: f.percent(family.dsr, 1), note: "95 % is the least to believe it" },
      ]} />
      {family.selected?.run_id && <p>Selected: <a href={address("run", family.selected.run_id)}>trial {family.selected.index ?? ""}</a> <bdi>{family.selected.params ? plain(family.selected.params) : ""}</bdi></p>}
    </Section>
  );
}

function Trials({ trials, family }: { trials: Trial[]; family: Family }) {
  const names = varying(trials), by = fragment.value;
  const key = results.find((r) => r === by.get("by")) ?? "sharpe_ratio";
  const x = names.find((n) => n === by.get("x")) ?? names[0], y = names.find((n) => n === by.get("y")) ?? names.find((n) => n !== x);
  const found = trials.flatMap((t) => resultOf(t, key) ?? []), format = (v: number) => (key === "sharpe_ratio" ? f.ratio(v) : f.percent(v, 1));
  const numbers = names.filter((n) => trials.every((t) => typeof t.params[n] === "number"));
  const rows = trials.filter((t) => resultOf(t, key) !== null).map((t) => [...numbers.map((n) => Number(t.params[n])), resultOf(t, key) ?? 0]);
  const bins = key === "sharpe_ratio" && family.luck?.bins?.length ? family.luck.bins : binned(found);
  const marks = key === "sharpe_ratio" && family.luck ? [
    ...(typeof family.luck.expected_max === "number" ? [{ at: family.luck.expected_max, words: `best of luck alone ${format(family.luck.expected_max)}`, color: 1 }] : []),
    ...(typeof family.luck.observed === "number" ? [{ at: family.luck.observed, words: `best found ${format(family.luck.observed)}`, color: 0 }] : []),
  ] : [];
  return (
    <>
      <div class="panel toolbar">
        <Choice label="Result" name="by" value={key} of={[...results]} />
        {names.length > 1 && <><Choice label="Across" name="x" value={x ?? ""} of={names} /><Choice label="Up" name="y" value={y ?? ""} of={names} /></>}
      </div>
      {x && y && x !== y && <Section name={`Best ${f.words(key).toLowerCase()} for each ${x} and ${y}`}><Heat label={`Heat map of ${f.words(key)}: ${x} across, ${y} up`} cells={best(trials, x, y, key)} format={format} /></Section>}
      <Section name="Trials against luck"><Bars label={`Distribution of ${f.words(key)} over ${found.length} trials`} bins={bins} marks={marks} format={format} /></Section>
      {numbers.length > 0 && rows.length > 1 && <Section name="Parallel coordinates"><Parallel label={`A line for each of ${rows.length} trials over ${numbers.join(", ")} and ${f.words(key)}`} of={{ names: [...numbers, f.words(key)], rows }} /></Section>}
      <Section name="All trials"><Listed trials={trials} names={names} by={key} /></Section>
    </>
  );
}

function Choice({ label, name, value, of }: { label: string; name: string; value: string; of: string[] }) {
  return <label>{label} <select value={value} onChange={(e) => keep({ [name]: e.currentTarget.value })}>{of.map((o) => <option key={o} value={o}>{o}</option>)}</select></label>;
}

function Listed({ trials, names, by }: { trials: Trial[]; names: string[]; by: Result }) {
  const sign = by === "max_drawdown" ? 1 : -1;
  const rows = [...trials].sort((a, b) => sign * ((resultOf(a, by) ?? -sign * Infinity) - (resultOf(b, by) ?? -sign * Infinity)) || a.index - b.index).slice(0, 200);
  const columns: Column<Trial>[] = [
    { key: "index", head: "Trial", number: true, cell: (t) => (t.run_id ? <a href={address("run", t.run_id)}>{t.index}</a> : t.index) },
    ...names.map((n) => ({ key: "p:" + n, head: n, cell: (t: Trial) => <bdi>{plain(t.params[n])}</bdi> })),
    { key: "status", head: "Status", cell: (t) => t.status },
    { key: "sharpe", head: "Sharpe", number: true, cell: (t) => f.ratio(t.metrics?.sharpe_ratio) },
    { key: "return", head: "Return", number: true, cell: (t) => f.signedPercent(t.metrics?.total_return) },
    { key: "drawdown", head: "Max drawdown", number: true, cell: (t) => f.percent(t.metrics?.max_drawdown) },
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
