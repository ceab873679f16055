// The four tables of a run.
import { computed, effect, signal, untracked } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Position, TableName } from "../api/types.ts";
import { count } from "../state/format.ts";
import { fragment, keep } from "../state/route.ts";
import { config, ended, positions, quote, selection } from "../state/store.ts";
import { announce } from "../state/view.ts";
import { nextSort, sortOf, sortWord } from "./arrange.ts";
import { Bar, whyFixed } from "./bar.tsx";
import { choose } from "./choose.ts";
import type { Listed, Spec } from "./columns.ts";
import { Files } from "./files.tsx";
import { GridTable } from "./grid.tsx";
import { modelOf, type TableModel } from "./model.ts";
import * as specs from "./specs.ts";
import { noCell, type Grid, type View } from "./view.ts";

/** Trades, orders or fills as a virtual grid. */
export function RunTable({ table }: { table: TableName }) {
  switch (table) {
    case "trades":
      return <Paged model={modelOf(table, specs.trades)} />;
    case "orders":
      return <Paged model={modelOf(table, specs.orders)} />;
    case "fills":
      return <Paged model={modelOf(table, specs.fills)} />;
  }
}

function Paged<R extends Listed>({ model }: { model: TableModel<R> }) {
  useEffect(() => model.begin(), [model]);
  useEffect(() => followSort(model), [model]);
  const money = quote.value;
  const single = config.value?.symbols.length === 1;
  const grid = useMemo(() => gridOf(model, money, single), [model, money, single]);
  model.version.value;
  const { total, known, error } = model.pages;
  if (total === 0) {
    const words = known ? none(model.spec) : error ? `Rows cannot be read: ${error}. Trying again.` : "Loading…";
    return <Short words={words} name={model.name} spec={model.spec} rows={[]} />;
  }
  return (
    <>
      <Bar model={model} />
      <GridTable grid={grid} />
      {model.view.value.total === 0 && <p class="caption">No row passes the filter.</p>}
    </>
  );
}

/** Keeps the order of a table in the address, and follows the address; the returned function ends it. */
function followSort<R extends Listed>(model: TableModel<R>): () => void {
  const said = () => fragment.value.get("sort") ?? "";
  if (untracked(said) !== "") model.sort.value = sortOf(untracked(said), model.spec.columns);
  let before = untracked(said);
  const stops = [
    effect(() => {
      const now = sortWord(model.sort.value);
      if (untracked(said) !== now) keep({ sort: (before = now) });
    }),
    effect(() => {
      const now = said();
      if (now === before) return;
      before = now;
      model.sort.value = sortOf(now, model.spec.columns);
    }),
  ];
  return () => stops.forEach((stop) => stop());
}

function none<R>(spec: Spec<R>): string {
  return ended.value ? spec.none.ended : spec.none.running;
}

/** The symbol is no column where all rows have the same. */
function gridOf<R extends Listed>(model: TableModel<R>, money: string, single: boolean): Grid<R> {
  const { spec, sort } = model;
  const why = computed(() => (model.fixed.value ? whyFixed : ""));
  const press = (column: string) => {
    if (why.value) announce(why.value);
    else sort.value = nextSort(sort.value, column);
  };
  return {
    label: spec.title, columns: single ? spec.columns.filter((c) => c.key !== "symbol") : spec.columns, quote: money, view: model.view, selected: model.selected, active: model.active, target: model.target,
    place: model.place, select: (row) => model.select(row), want: (first, end) => model.want(first, end),
    arrangement: computed(() => JSON.stringify([sort.value, model.words.value.trim(), model.chip.value])), sorting: { now: sort, press, why },
  };
}

/** Above a table that is here whole, or instead of one that is empty. */
function Short<R>({ words, name, spec, rows }: { words: string; name: string; spec: Spec<R>; rows: R[] }) {
  const sheet = () => ({ name, fields: spec.fields, rows: async () => rows, total: () => rows.length });
  return (
    <div class="table-bar">
      <p class="caption">{words}</p>
      <Files name={name} many={spec.many} empty={rows.length === 0} sheet={sheet} />
    </div>
  );
}

/** Open positions. */
export function Positions() {
  const money = quote.value, rows = positions.value;
  const grid = useMemo(() => positionGrid(money), [money]);
  const words = rows.length === 0 ? none(specs.positions) : `${count(rows.length)} open ${rows.length === 1 ? "position" : "positions"}`;
  return (
    <>
      <Short words={words} name="positions" spec={specs.positions} rows={rows} />
      {rows.length > 0 && <GridTable grid={grid} />}
    </>
  );
}

function positionGrid(money: string): Grid<Position> {
  const { columns, title, id } = specs.positions;
  const view = computed<View<Position>>(() => {
    const rows = positions.value;
    return { total: rows.length, row: (i) => i, index: (i) => i, get: (i) => rows[i], natural: false };
  });
  const selected = computed(() => {
    const choice = selection.value;
    return choice?.from === "table" ? positions.value.findIndex((p) => id(p) === choice.id) : -1;
  });
  const select = (i: number) => {
    const row = positions.peek()[i];
    if (row?.opened_at) choose(row, specs.positions);
  };
  return { label: title, columns, quote: money, view, selected, active: signal(noCell), target: signal(-1), place: { top: 0, left: 0 }, select };
}
