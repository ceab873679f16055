// A row is chosen: the chart goes to its time.
import type { Trade } from "../api/types.ts";
import { config, selection } from "../state/store.ts";
import { symbol } from "../state/view.ts";
import type { Listed, Spec } from "./columns.ts";

export type Choice = NonNullable<typeof selection.value>;

/** Selects the moment of a row and, in a run of several symbols, shows its candles. */
export function choose<R extends Listed>(row: R, spec: Spec<R>): Choice {
  if ((config.peek()?.symbols.length ?? 0) > 1) symbol.value = row.symbol;
  const trade = "entry_price" in row && "exit_price" in row ? { trade: row as unknown as Trade } : {};
  return (selection.value = { time: spec.span(row)[1], id: spec.id(row), from: "table", ...trade });
}
