// Every run of the registry: filter, sort, choose columns, select two or more to compare.
import { signal } from "@preact/signals";
import { address } from "../../state/address.ts";
import { count } from "../../state/format.ts";
import { fragment, keep } from "../../state/route.ts";
import { Heading, States, Table, type Column } from "../kit.tsx";
import { firstPage, usePages } from "../paged.tsx";
import type { List, Row } from "../shapes.ts";
import { all, choose, chosen } from "./columns.tsx";

const filters = ["q", "kind", "origin", "status", "slug", "symbol", "timeframe", "tag"] as const;
const most = 8;

/** The question that the fragment is. */
function question(of: URLSearchParams): string {
  const asked = new URLSearchParams();
  for (const name of [...filters, "sort"]) {
    const value = of.get(name);
    if (value) asked.set(name, value);
  }
  if (!asked.has("sort")) asked.set("sort", "-completed_at");
  return "/runs?" + asked;
}

export function Runs() {
  const path = question(fragment.value);
  return (
    <>
      <Heading>Runs</Heading>
      <Filters />
      <Listed path={path} />
    </>
  );
}

const choices: { [name in (typeof filters)[number]]?: string[] } = {
  origin: ["lab", "service", "imported"], kind: ["run", "trial", "falsification", "service", "imported", "legacy"], status: ["running", "completed", "failed"],
};
const labels: { [name in (typeof filters)[number]]: string } = { q: "Search", kind: "Kind", origin: "Origin", status: "Status", slug: "Strategy", symbol: "Symbol", timeframe: "Timeframe", tag: "Tag" };

function Filters() {
  const set = (name: string) => (e: { currentTarget: { value: string } }) => keep({ [name]: e.currentTarget.value.trim(), ...firstPage("runs") });
  return (
    <form class="panel toolbar" role="search" aria-label="Filter of the runs" onSubmit={(e) => e.preventDefault()}>
      {filters.map((name) => (
        <label key={name}>{labels[name]}{" "}
          {choices[name]
            ? <select value={fragment.value.get(name) ?? ""} onChange={set(name)}><option value="">any</option>{choices[name].map((c) => <option key={c} value={c}>{c}</option>)}</select>
            : <input type="search" size={name === "q" ? 16 : 9} value={fragment.value.get(name) ?? ""} onChange={set(name)} />}
        </label>
      ))}
      <details class="choose">
        <summary>Columns</summary>
        <fieldset>
          <legend class="unseen">Columns</legend>
          {all.map((c) => (
            <label key={c.key} class="switch">
              <input type="checkbox" checked={chosen.value.includes(c.key)} onChange={(e) => choose(c.key, e.currentTarget.checked)} />{c.head}
            </label>
          ))}
        </fieldset>
      </details>
    </form>
  );
}

/** The runs to be compared: they stay selected on other pages of the list, and after a look at one. */
const selected = signal<ReadonlySet<string>>(new Set());

const select: Column<Row> = {
  key: "select", head: "Compare",
  cell: ({ run_id }) => (
    <input type="checkbox" aria-label={`Compare ${run_id}`} checked={selected.value.has(run_id)}
      onChange={(e) => {
        const now = new Set(selected.value);
        if (e.currentTarget.checked) now.add(run_id);
        else now.delete(run_id);
        selected.value = now;
      }} />
  ),
};

function Listed({ path }: { path: string }) {
  const { asked, key, turn } = usePages<List<Row>>(path, "runs"), filtered = filters.some((name) => fragment.value.has(name)), n = selected.value.size;
  return (
    <States of={asked} what="runs" empty={({ items }) => items.length === 0 && (filtered
      ? <p>No run is like this. <button type="button" onClick={() => keep({ ...Object.fromEntries(filters.map((n) => [n, ""])), ...firstPage("runs") })}>Show all runs</button></p>
      : <p>There is no run yet. <a href={address("runner")}>Start the first one</a>.</p>)}>
      {({ items, total, ...list }) => (
        <section class="panel section" aria-label="List of runs">
          <div class="toolbar">
            <p role="status">{count(total)} {total === 1 ? "run" : "runs"}{n > 0 && `, ${n} selected`}</p>
            {n > 0 && <button type="button" onClick={() => (selected.value = new Set())}>Select none</button>}
            {n >= 2 && n <= most ? <a class="button" href={address("compare", "", "ids=" + [...selected.value].map(encodeURIComponent).join(","))}>Compare {n} runs</a>
              : <span class="caption">Select two to {most} runs to compare them.</span>}
          </div>
          <Table key={key} name="Runs" rows={items} columns={[select, ...all.filter((c) => chosen.value.includes(c.key))]} id={(r) => r.run_id} selected={selected.value}
            sort={fragment.value.get("sort") ?? "-completed_at"} onSort={(sort) => keep({ sort, ...firstPage("runs") })} />
          {turn({ ...list, total })}
        </section>
      )}
    </States>
  );
}
