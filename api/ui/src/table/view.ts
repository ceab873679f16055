// What a grid draws: rows in the order of the screen, each known by an index that stays
// its own when others come, go or change their places.
import type { ReadonlySignal, Signal } from "@preact/signals";
import type { Sort } from "./arrange.ts";
import type { Column } from "./columns.ts";

export interface View<R> {
  total: number;
  /** The row at a place on the screen. */
  row(place: number): number;
  /** The place of a row, negative or beyond total when it is not shown. */
  index(row: number): number;
  get(row: number): R | undefined;
  /** Newest first, all of them: new rows push the others down. */
  natural: boolean;
}

/** The cell that the Tab key leads to. */
export interface Cell {
  row: number;
  column: number;
}

/** No row yet: the first one that is seen counts. */
export const firstRow = -2;
export const noCell: Cell = { row: firstRow, column: 0 };

/** All that a grid needs to know. */
export interface Grid<R> {
  label: string;
  columns: readonly Column<R>[];
  quote: string;
  view: ReadonlySignal<View<R>>;
  selected: ReadonlySignal<number>;
  active: Signal<Cell>;
  target: Signal<number>;
  /** Where it is scrolled to, kept while it is not on the page. */
  place: { top: number; left: number };
  select(row: number): void;
  /** Asks for the rows at the places first to end. */
  want?(first: number, end: number): void;
  /** Changes with order and choice: then the first row is shown. */
  arrangement?: ReadonlySignal<string>;
  sorting?: Sorting;
}

export interface Sorting {
  now: ReadonlySignal<Sort | null>;
  press(column: string): void;
  /** Why it cannot be sorted; "" when it can. */
  why: ReadonlySignal<string>;
}
