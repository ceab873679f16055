// The checks of /health as words.
import type { Health } from "../api/types.ts";
import { exact, time, words } from "../state/format.ts";
import type { IconName } from "./icon.tsx";

export type CheckState = "pass" | "warn" | "fail";

export interface Chip {
  name: string;
  state: CheckState;
  /** Short words, such as "plugins 3/4". */
  text: string;
  /** The check's own message and numbers, for whoever opens it. */
  message: string;
  facts: [string, string][];
}

const names: Record<string, string> = { exchange_connectivity: "venue" };
const outcomes: Record<CheckState, string> = { pass: "ok", warn: "warning", fail: "failing" };
export const icons: Record<CheckState, IconName> = { pass: "check", warn: "warn", fail: "cross" };

/** One chip per check that is not skipped. */
export function chips(health: Health | null): Chip[] {
  const all = Object.entries(health?.checks ?? {}) as [string, Record<string, unknown>][];
  return all.filter(([, check]) => String(check.status) in outcomes).map(([name, check]) => chip(name, check));
}

function chip(name: string, check: Record<string, unknown>): Chip {
  const state = check.status as CheckState;
  const label = names[name] ?? words(name).toLowerCase();
  const { available, unavailable } = check;
  const counted = typeof available === "number" && typeof unavailable === "number";
  return {
    name, state,
    text: counted ? `${label} ${available}/${available + unavailable}` : state === "pass" ? label : `${label} ${outcomes[state]}`,
    message: String(check.message || `${words(name)}: ${outcomes[state]}`),
    facts: facts(check),
  };
}

function facts(check: Record<string, unknown>): [string, string][] {
  const shown = Object.entries(check).filter(([key, value]) => !["status", "message", "checked_at"].includes(key) && value !== null && value !== undefined);
  const list = shown.map(([key, value]) => fact(key, value));
  list.push(["Checked at", time(check.checked_at as string) + " UTC"]);
  return list;
}

function fact(key: string, value: unknown): [string, string] {
  if (typeof value !== "number") return [words(key), key.endsWith("_at") ? time(String(value)) + " UTC" : String(value)];
  if (key.endsWith("_bytes")) return [words(key.slice(0, -6)), bytes(value)];
  if (key.endsWith("_ms")) return [words(key.slice(0, -3)), exact(value) + "\u202fms"];
  return [words(key), exact(value)];
}

/** Bytes in the largest fitting binary unit. */
export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let n = value, unit = 0;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${n < 10 && unit ? n.toFixed(1) : Math.round(n)}\u202f${units[unit]}`;
}
