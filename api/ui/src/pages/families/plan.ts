// How far a search is, and its trials as axes and cells.
import { count, duration, ratio } from "../../state/format.ts";
import type { Family, SearchRequest, Trial } from "../shapes.ts";

/** How many trials the plan has; null when it does not say. */
export const planned = ({ plan }: Family): number | null => plan?.trials?.length ?? null;

/** done are the trials that have ended, failed some of them. */
export function progressWords(family: Family): string {
  const total = planned(family);
  return `${count(family.done)}${total === null ? "" : ` of ${count(total)}`}${family.failed ? `, ${count(family.failed)} failed` : ""}`;
}

/** How long the rest of the search takes; "" where that is not known. */
export function timeLeft({ progress, result }: Pick<Family, "progress" | "result">): string {
  const left = progress?.eta_seconds;
  return result || typeof left !== "number" ? "" : `About ${duration(left)} left.`;
}

/** Where luck alone would put the best of the trials, as a sentence. */
export function byLuck({ luck, result }: Pick<Family, "luck" | "result">): string {
  if (luck) return `Without any skill, the best of ${ratio(luck.trials, 1)} independent trials with this spread is expected at ${ratio(luck.expected_max)}.`;
  return result ? "Where luck alone would put the best of them is not known." : "Where luck alone would put the best of them is known at the end of the search.";
}

const soonest = 3000, latest = 30_000;

/** When a search is asked for again: soon while trials end, ever later while none does, not once it has a result. */
export function pace(): (family: Family) => number {
  let known = "", after = soonest;
  return ({ done, failed, result, result_damage }) => {
    const now = [done, failed, result_damage].join();
    after = now === known ? Math.min(after * 2, latest) : soonest;
    known = now;
    return result ? 0 : after;
  };
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

/** What is tried of one parameter, as a plan writes it. */
export type Tried = SearchRequest["space"][string] & ({ type: "int" | "float"; low: number; high: number; step: number } | { type: "choice"; values: (number | string | boolean)[] });

/** What a range "5..20 step 5" or a list "5, 10, 20" tries; null when it is neither. */
export function tried(text: string): Tried | null {
  const range = /^\s*(-?[\d.]+)\s*\.\.\s*(-?[\d.]+)(?:\s*(?:step|by)\s*([\d.]+))?\s*$/.exec(text);
  if (range) {
    const [low, high, step] = [Number(range[1]), Number(range[2]), Number(range[3] ?? 1)] as const;
    if (![low, high, step].every(Number.isFinite) || !(step > 0) || high < low) return null;
    return { type: [low, high, step].every(Number.isInteger) ? "int" : "float", low, high, step };
  }
  const parts = text.split(",").map((p) => p.trim());
  if (parts.some((p) => p === "")) return null;
  return { type: "choice", values: parts.map((p) => (p === "true" ? true : p === "false" ? false : Number.isFinite(Number(p)) ? Number(p) : p)) };
}

/** How many values that are. */
export const sizeOf = (t: Tried): number => (t.type === "choice" ? t.values.length : Math.floor((t.high - t.low) / t.step + 1e-9) + 1);
