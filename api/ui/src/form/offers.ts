// What strategies and exchanges offer together, and in words why something is not
// offered. Lists of the service in, plain values out.
import type { Exchange, Strategy } from "../api/types.ts";
import { isolated } from "../state/bidi.ts";
import type { FormMode } from "./draft.ts";

export interface Window {
  start: string;
  end: string;
  /** Where the earliest hold-out begins, null without one. */
  held: string | null;
}
export interface Offer {
  value: string;
  /** How it reads; the value itself if absent. */
  text?: string;
  /** Beside the value: where it comes from. */
  note: string;
  /** Why it cannot be chosen; "" if it can. */
  reason: string;
}

const usable = (e: Exchange) => e.status === "available";

/** Why modes cannot be chosen, a sentence for all that have the same reason; [] if they can. */
export function modeReasons(modes: readonly FormMode[], strategy: Strategy | undefined, exchanges: readonly Exchange[] | null): string[] {
  const byStrategy = strategy?.status === "available" ? modes.filter((m) => !strategy.modes.includes(m)) : [];
  const byExchange = modes.filter((m) => !byStrategy.includes(m) && exchanges && !exchanges.some((e) => usable(e) && e.modes.includes(m)));
  const reasons = [];
  if (byStrategy.length) reasons.push(`${isolated(strategy?.display_name || strategy?.name || "")} does not run ${byStrategy.join(" or ")}.`);
  if (byExchange.length) reasons.push(`No exchange here offers ${byExchange.join(" or ")}.`);
  return reasons;
}

/** Why a mode cannot be chosen; "" if it can. */
export function modeReason(mode: FormMode, strategy: Strategy | undefined, exchanges: readonly Exchange[] | null): string {
  return modeReasons([mode], strategy, exchanges)[0] ?? "";
}

/** Why an exchange cannot be chosen for what else is chosen; "" if it can. */
export function exchangeReason(e: Exchange, mode: FormMode, symbols: readonly string[], timeframe: string): string {
  if (!usable(e)) return isolated(e.error?.message || "unavailable");
  if (!e.modes.includes(mode)) return `no ${mode}`;
  const without = symbols.filter((s) => !hasSymbol(e, s, mode));
  if (without.length) return `no ${without.join(", ")}`;
  return timeframe && symbols.some((s) => !hasTimeframe(e, s, timeframe, mode)) ? `no ${timeframe} candles` : "";
}

function hasSymbol(e: Exchange, symbol: string, mode: FormMode): boolean {
  if (mode === "backtest" && stored(e)) return Object.hasOwn(e.date_range, symbol);
  return e.symbols === null || e.symbols.includes(symbol);
}

const stored = (e: Exchange) => Object.keys(e.date_range).length > 0;

/** Stored candles also give every longer timeframe that they divide. */
function hasTimeframe(e: Exchange, symbol: string, timeframe: string, mode: FormMode): boolean {
  if (mode !== "backtest" && e.connector !== "store") return e.timeframes.includes(timeframe);
  return source(e, symbol, timeframe) !== "";
}

/** The stored timeframe that candles are taken or made from; "" without one. */
function source(e: Exchange, symbol: string, timeframe: string): string {
  const have = Object.keys(e.date_range[symbol] ?? {});
  if (have.includes(timeframe)) return timeframe;
  return have.filter((tf) => divides(tf, timeframe)).sort((a, b) => seconds(b) - seconds(a))[0] ?? "";
}

const units: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400, w: 604800, M: 2629800 };
const parts = (timeframe: string) => /^([1-9]\d{0,3})([smhdwM])$/.exec(timeframe);

/** Length of a candle, months by their average; 0 if it is no timeframe. */
export function seconds(timeframe: string): number {
  const p = parts(timeframe);
  return p ? Number(p[1]) * (units[p[2] ?? ""] ?? 0) : 0;
}

/** Whether candles of one timeframe can be put together to another: as the service does it. */
export function divides(from: string, to: string): boolean {
  const a = parts(from), b = parts(to);
  if (!a || !b) return false;
  if (b[2] === "M" && a[2] === "M") return Number(b[1]) > Number(a[1]) && Number(b[1]) % Number(a[1]) === 0;
  if (b[2] === "M") return 86400 % seconds(from) === 0;
  return a[2] !== "M" && seconds(to) > seconds(from) && seconds(to) % seconds(from) === 0;
}

/** The exchanges that a choice is about: the one that is named, else all that can be used in the mode. */
export function candidates(exchanges: readonly Exchange[], id: string, mode: FormMode): Exchange[] {
  return exchanges.filter((e) => usable(e) && e.modes.includes(mode) && (id === "" || e.id === id || e.aliases.includes(id)));
}

/** Symbols to suggest, the default exchange's first. */
export function symbolOffers(from: readonly Exchange[], mode: FormMode, quote: string): Offer[] {
  const where = new Map<string, string[]>();
  for (const e of [...from].sort((a, b) => Number(b.default) - Number(a.default))) {
    for (const s of new Set([...(e.symbols ?? []), ...Object.keys(e.date_range)])) {
      if (hasSymbol(e, s, mode)) where.set(s, [...(where.get(s) ?? []), e.id]);
    }
  }
  return [...where].map(([value, ids]) => ({
    value, note: ids.join(", "), reason: quote && value.split("/")[1] !== quote ? `all symbols of a run need the quote currency ${quote}` : "",
  }));
}

const common = ["1m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M"];

/** Timeframes to suggest for the symbols, shortest first. */
export function timeframeOffers(from: readonly Exchange[], symbols: readonly string[], mode: FormMode, strategy: Strategy | undefined): Offer[] {
  const listed = from.flatMap((e) => e.timeframes), only = strategy?.timeframes;
  const values = [...new Set([...listed, ...(only ?? []), ...common])].filter((tf) => seconds(tf) > 0);
  const offers: Offer[] = [];
  for (const value of values.sort((a, b) => seconds(a) - seconds(b))) {
    const e = from.find((x) => symbols.every((s) => hasTimeframe(x, s, value, mode)) && (symbols.length > 0 || listed.includes(value)));
    // What is neither listed nor given has no line.
    if (!e && !listed.includes(value) && !only?.includes(value)) continue;
    const made = e && symbols[0] && mode === "backtest" ? source(e, symbols[0], value) : value;
    offers.push({ value, note: made && made !== value ? `made from ${made}` : "", reason: timeframeReason(value, e, symbols, strategy) });
  }
  return offers;
}

function timeframeReason(value: string, e: Exchange | undefined, symbols: readonly string[], strategy: Strategy | undefined): string {
  if (strategy?.timeframes && !strategy.timeframes.includes(value)) return `not for ${isolated(strategy.display_name || strategy.name)}`;
  return e ? "" : `no ${value} candles of ${symbols.join(", ")}`;
}

/** The exchange that the service takes when none is named: the default one first, then by id. */
export function automatic(exchanges: readonly Exchange[], mode: FormMode, symbols: readonly string[], timeframe: string): Exchange | undefined {
  const order = [...exchanges].sort((a, b) => Number(b.default) - Number(a.default) || (a.id < b.id ? -1 : 1));
  return order.find((e) => exchangeReason(e, mode, symbols, timeframe) === "");
}

const earlier = (a: string | null, b: string | null) => (a && b ? (a < b ? a : b) : a ?? b);

/** From the first to the last stored candle of the symbols; null if nothing is known. */
export function windowOf(e: Exchange | undefined, symbols: readonly string[], timeframe: string): Window | null {
  const found = symbols.flatMap((s) => (e ? (e.date_range[s]?.[source(e, s, timeframe)] ?? []) : []));
  return found.reduce<Window | null>((w, { start, end, holdout_start: held }) => ({
    start: w && w.start < start ? w.start : start, end: w && w.end > end ? w.end : end, held: earlier(w?.held ?? null, held),
  }), null);
}

/** A first choice that can be started at once: the default exchange's first stored candles. */
export function firstChoice(exchanges: readonly Exchange[]): { symbol: string; timeframe: string } | null {
  for (const e of [...exchanges].sort((a, b) => Number(b.default) - Number(a.default))) {
    if (!usable(e)) continue;
    for (const [symbol, by] of Object.entries(e.date_range)) {
      const timeframe = Object.keys(by).sort((a, b) => seconds(a) - seconds(b))[0];
      if (timeframe) return { symbol, timeframe };
    }
  }
  return null;
}
