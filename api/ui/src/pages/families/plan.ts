// How far a search is, and its trials as axes and cells.
import { count } from "../../state/format.ts";
import type { Family, Trial } from "../shapes.ts";

/** How many trials the plan has; null when it does not say. */
export const planned = ({ plan }: Family): number | null => plan?.trials?.length ?? null;

/** done are the trials that have ended, failed some of them. */
export function progressWords(family: Family): string {
  const total = planned(family);
  return `${count(family.done)}${total === null ? "" : ` of ${count(total)}`}${family.failed ? `, ${count(family.failed)} failed` : ""}`;
}

/** The metrics by which trials are looked at. */
export const results = ["sharpe_ratio", "total_return", "max_drawdown"] as const;
export type Result = (typeof results)[number];

export const resultOf = (t: Trial, key: Result): number | null => t.metrics[key];

/** The parameters in which trials differ, in their order. */
export function varying(trials: Trial[]): string[] {
  const names = new Map<string, Set<string>>();
  for (const t of trials) for (const [k, v] of Object.entries(t.params)) names.set(k, (names.get(k) ?? new Set()).add(JSON.stringify(v)));
  return [...names].filter(([, values]) => values.size > 1).map(([name]) => name);
}

/** The best result for each pair of values: other parameters are searched through. */
export function best(trials: Trial[], x: string, y: string, key: Result): { x: string; y: string; value: number }[] {
  const cells = new Map<string, { x: string; y: string; value: number }>();
  const better = (a: number, b: number) => (key === "max_drawdown" ? a < b : a > b);
  for (const t of trials) {
    const value = resultOf(t, key);
    if (value === null) continue;
    const cell = { x: String(t.params[x]), y: String(t.params[y]), value }, name = JSON.stringify([cell.x, cell.y]), old = cells.get(name);
    if (!old || better(value, old.value)) cells.set(name, cell);
  }
  return [...cells.values()];
}
