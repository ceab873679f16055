// Order and choice of rows, for tables that are here whole.
import type { Column, Value } from "./columns.ts";

/** Up to so many rows a table can be sorted and filtered. */
export const mostArranged = 20_000;

export interface Sort {
  column: string;
  down: boolean;
}

/** What a press on a column's head does: ascending, descending, newest first. */
export function nextSort(now: Sort | null, column: string): Sort | null {
  if (now?.column !== column) return { column, down: false };
  return now.down ? null : { column, down: true };
}

/** An order as an address has it, "" for newest first. */
export const sortWord = (sort: Sort | null) => (sort ? (sort.down ? "-" : "") + sort.column : "");

/** The order of an address; null where the table has no such column. */
export function sortOf<R>(word: string, columns: readonly Column<R>[]): Sort | null {
  const down = word.startsWith("-"), column = down ? word.slice(1) : word;
  return columns.some((c) => c.key === column) ? { column, down } : null;
}

/** Whether text has all words, in any order. */
export function matches(text: string, words: string): boolean {
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** Orders two values; missing ones stand last either way. */
export function compare(a: Value, b: Value, down: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const order = a < b ? -1 : a > b ? 1 : 0;
  return down ? -order : order;
}

/** The rows that pass, as absolute indexes in the order of the screen; equal ones newest first. */
export function arrange<R>(rows: readonly R[], pass: (row: R) => boolean, sort: Sort | null, columns: readonly Column<R>[]): number[] {
  const order: number[] = [];
  for (let i = rows.length - 1; i >= 0; i--) if (pass(rows[i] as R)) order.push(i);
  const column = sort && columns.find((c) => c.key === sort.column);
  if (!sort || !column) return order;
  const values = rows.map((row) => column.value(row));
  return order.sort((a, b) => compare(values[a] ?? null, values[b] ?? null, sort.down));
}
