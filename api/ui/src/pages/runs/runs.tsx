// Every run of the registry: filter, sort, choose columns, select two or more to compare.
import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiError, read } from "../../api/client.ts";
import { address } from "../../state/address.ts";
import { count } from "../../state/format.ts";
import { fragment, keep } from "../../state/route.ts";
import { useAnswer } from "../answer.ts";
import { Heading, Refusal, States, Table, type Column } from "../kit.tsx";
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
  asked.set("limit", "50");
  return "/runs?" + asked;
}

export function Runs() {
  const path = question(fragment.value);
  return (
    <>
      <Heading>Runs</Heading>
      <Filters />
      <Listed key={path} path={path} />
    </>
  );
}

const choices: { [name in (typeof filters)[number]]?: string[] } = {
  origin: ["lab", "service", "imported"], kind: ["run", "trial", "falsification", "service", "imported", "legacy"], status: ["running", "completed", "failed"],
};
const labels: { [name in (typeof filters)[number]]: string } = { q: "Search", kind: "Kind", origin: "Origin", status: "Status", slug: "Strategy", symbol: "Symbol", timeframe: "Timeframe", tag: "Tag" };

function Filters() {
  const set = (name: string) => (e: { currentTarget: { value: string } }) => keep({ [name]: e.currentTarget.value.trim() });
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

function Listed({ path }: { path: string }) {
  const asked = useAnswer<List<Row>>(path);
  const filtered = filters.some((name) => fragment.value.has(name));
  return (
    <States of={asked} what="runs" empty={({ items }) => items.length === 0 && (filtered
      ? <p>No run is like this. <button type="button" onClick={() => keep(Object.fromEntries(filters.map((n) => [n, ""])))}>Show all runs</button></p>
      : <p>There is no run yet. <a href={address("runner")}>Start the first one</a>.</p>)}>
      {(list) => <Rows first={list} path={path} />}
    </States>
  );
}

function Rows({ first, path }: { first: List<Row>; path: string }) {
  const rows = useSignal(first.items), cursor = useSignal(first.next_cursor), problem = useSignal<ApiError | null>(null);
  const selected = useSignal<ReadonlySet<string>>(new Set());
  useEffect(() => {
    rows.value = first.items;
    cursor.value = first.next_cursor;
  }, [first]);
  const columns = useComputed<Column<Row>[]>(() => [{
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
  }, ...all.filter((c) => chosen.value.includes(c.key))]);
  const more = async () => {
    problem.value = null;
    try {
      const next = await read<List<Row>>(`${path}&cursor=${encodeURIComponent(cursor.value ?? "")}`);
      rows.value = [...rows.value, ...next.items];
      cursor.value = next.next_cursor;
    } catch (e) {
      problem.value = e as ApiError;
    }
  };
  const n = selected.value.size;
  return (
    <section class="panel section" aria-label="List of runs">
      <div class="toolbar">
        <p role="status">{count(rows.value.length)} of {count(first.total)} runs{n > 0 && `, ${n} selected`}</p>
        {n >= 2 && n <= most ? <a class="button" href={address("compare", "", "ids=" + [...selected.value].map(encodeURIComponent).join(","))}>Compare {n} runs</a>
          : <span class="caption">Select two to {most} runs to compare them.</span>}
      </div>
      <Table name="Runs" rows={rows.value} columns={columns.value} id={(r) => r.run_id} selected={selected.value}
        sort={fragment.value.get("sort") ?? "-completed_at"} onSort={(sort) => keep({ sort })} />
      {problem.value && <Refusal error={problem.value} what="runs" again={more} />}
      {cursor.value && <p class="toolbar"><button type="button" onClick={more}>More runs</button></p>}
    </section>
  );
}
