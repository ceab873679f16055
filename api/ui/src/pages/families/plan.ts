// What a plan says of itself, and what the form makes of ranges.
import { count, duration } from "../../state/format.ts";
import type { Family, Trial } from "../shapes.ts";

export const idOf = (x: Family): string => x.plan_id ?? x.plan?.plan_id ?? "";
export const slugOf = (x: Family): string => x.slug ?? x.plan?.slug ?? "";

/** How far a search is; null when its plan does not say how many trials it has. */
export function progressOf({ progress, plan, done, failed }: Family): NonNullable<Family["progress"]> | null {
  const total = plan?.trials?.length;
  return progress ?? (total && done !== undefined ? { done, failed: failed ?? 0, total } : null);
}

export function progressWords(family: Family): string {
  const p = progressOf(family);
  if (!p) return family.done === undefined ? "" : count(family.done);
  const eta = p.done < p.total && p.eta_seconds ? `, ${duration(p.eta_seconds)} left` : "";
  return `${count(p.done)} of ${count(p.total)}${p.failed ? `, ${count(p.failed)} failed` : ""}${eta}`;
}

/** The metrics by which trials are looked at. */
export const results = ["sharpe_ratio", "total_return", "max_drawdown"] as const;
export type Result = (typeof results)[number];

export const resultOf = (t: Trial, key: Result): number | null => t.metrics?.[key] ?? null;

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

/** Values of a range "5..20 step 5" or a list "5, 10, 20"; null when it is neither. */
export function values(text: string): unknown[] | null {
  const range = /^\s*(-?[\d.]+)\s*\.\.\s*(-?[\d.]+)(?:\s*(?:step|by)\s*([\d.]+))?\s*$/.exec(text);
  if (range) {
    const [from, to, step] = [Number(range[1]), Number(range[2]), Number(range[3] ?? 1)];
    if (![from, to, step].every(Number.isFinite) || !(step > 0) || to < from || (to - from) / step > 10_000) return null;
    return Array.from({ length: Math.floor((to - from) / step + 1e-9) + 1 }, (_, i) => Number((from + i * step).toPrecision(12)));
  }
  const parts = text.split(",").map((p) => p.trim());
  if (parts.some((p) => p === "")) return null;
  return parts.map((p) => (p === "true" ? true : p === "false" ? false : Number.isFinite(Number(p)) ? Number(p) : p));
}
