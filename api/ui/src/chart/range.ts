// Time and place on the axis. A slot i covers the places i-0.5 to i+0.5 and the time from
// its begin to the begin of the next; between them time runs evenly, whatever gaps the data has.
import { after } from "./align.ts";
import type { Axis } from "./align.ts";

/** A stretch of time, ms, or of the axis, slots. */
export interface Span {
  from: number;
  to: number;
}

export const length = (s: Span) => s.to - s.from;

/** Fewer slots than this are not spread over the whole width. */
const fewest = 24;
/** The closest zoom, in slots. */
const closest = 8;
/** What is asked for reaches this share of the visible stretch beyond both ends: more when it costs no detail. */
const padding = 0.25, wide = 2;
const mostSlots = 2000;

/** The time at a place; beyond the data it goes on at the mean pace. */
export function timeAt(axis: Axis, place: number): number {
  const n = axis.times.length;
  if (!n) return 0;
  const x = place + 0.5;
  if (x <= 0) return axis.times[0]! + x * pace(axis);
  if (x >= n) return axis.end + (x - n) * pace(axis);
  const i = Math.floor(x);
  const from = axis.times[i]!;
  return from + (x - i) * ((axis.times[i + 1] ?? axis.end) - from);
}

/** The place of a time: the inverse of timeAt. */
export function placeAt(axis: Axis, time: number): number {
  const n = axis.times.length;
  if (!n) return 0;
  const first = axis.times[0]!;
  if (time <= first) return (time - first) / pace(axis) - 0.5;
  if (time >= axis.end) return n + (time - axis.end) / pace(axis) - 0.5;
  const i = after(axis.times, time) - 1;
  const from = axis.times[i]!;
  return i + (time - from) / ((axis.times[i + 1] ?? axis.end) - from) - 0.5;
}

const pace = (axis: Axis) => Math.max(1, (axis.end - axis.times[0]!) / axis.times.length);

export const timesOf = (axis: Axis, places: Span): Span => ({ from: timeAt(axis, places.from), to: timeAt(axis, places.to) });
export const placesOf = (axis: Axis, times: Span): Span => ({ from: placeAt(axis, times.from), to: placeAt(axis, times.to) });

/** The places that show everything; a few slots stay in the middle. */
export function everything(axis: Axis): Span {
  const n = axis.times.length;
  const margin = Math.max(0, (fewest - n) / 2);
  return { from: -0.5 - margin, to: n - 0.5 + margin };
}

/** Whether all (or all but a hair) of full is visible. */
export function showsAll(visible: Span, full: Span): boolean {
  const hair = length(full) * 0.005;
  return visible.from <= full.from + hair && visible.to >= full.to - hair;
}

/** Whether two stretches are the same but for rounding. */
export function near(a: Span, b: Span): boolean {
  const hair = Math.max(0.01, length(a) * 0.001);
  return Math.abs(a.from - b.from) < hair && Math.abs(a.to - b.to) < hair;
}

/** What to ask for to show a stretch: some more on both sides, null for the whole run. */
export function plan(visible: Span, full: Span, candle: number): Span | null {
  const cheap = length(visible) * (1 + 2 * wide) <= mostSlots * candle;
  const more = length(visible) * (cheap ? wide : padding);
  const from = Math.max(full.from, visible.from - more), to = Math.min(full.to, visible.to + more);
  return to - from >= length(full) * 0.95 ? null : { from: Math.floor(from), to: Math.ceil(to) };
}

/** What was loaded, for which view, and whether each candle and each fill has its own point. */
export interface Loaded {
  span: Span;
  view: number;
  exact: boolean;
}

/** Whether a stretch contains all of a view that there is. */
export function covers(span: Span, view: Span, full: Span): boolean {
  const hair = length(view) * 0.02;
  return span.from <= Math.max(full.from, view.from) + hair && span.to >= Math.min(full.to, view.to) - hair;
}

/** Whether nothing finer or further could be had for this view. */
export function enough(loaded: Loaded, visible: Span, full: Span): boolean {
  return covers(loaded.span, visible, full) && (loaded.exact || length(visible) > loaded.view * 0.6);
}

/** The stretch moved by a share of its length, kept within full. */
export function pan(visible: Span, share: number, full: Span): Span {
  const size = length(visible);
  let from = visible.from + size * share;
  from = Math.min(Math.max(from, full.from - size * 0.05), Math.max(full.from, full.to - size * 0.95));
  return { from, to: from + size };
}

/** The stretch made longer or shorter around a place, its middle unless another share of it is given, within full and not below some candles. */
export function zoom(visible: Span, factor: number, full: Span, candle: number, share = 0.5): Span {
  const size = Math.min(Math.max(length(visible) * factor, closest * candle), length(full));
  const middle = visible.from + length(visible) * share;
  const from = Math.min(Math.max(middle - size * share, full.from), full.to - size);
  return { from, to: from + size };
}

/** A stretch as an address has it: days, or minutes where it does not begin with one; nothing for everything. */
export function words(view: Span | null): { from: string; to: string } {
  const word = (ms: number) => new Date(Math.round(ms / 60_000) * 60_000).toISOString().replace(/(T00:00)?:00\.000Z$/, (_, midnight: string | undefined) => (midnight ? "" : "Z"));
  return view ? { from: word(view.from), to: word(view.to) } : { from: "", to: "" };
}

export const written = (view: Span | null) => Object.values(words(view)).join(" ");

/** The stretch of an address; null where it has none. */
export function spoken(fragment: URLSearchParams): Span | null {
  const from = Date.parse(fragment.get("from") ?? ""), to = Date.parse(fragment.get("to") ?? "");
  return from < to ? { from, to } : null;
}

/** The stretches that have a button. */
export const stretches = ["1M", "3M", "YTD", "1Y"] as const;

/** The last month, quarter or year of full, or its last calendar year so far. */
export function lastOf(stretch: (typeof stretches)[number], full: Span): Span {
  const day = new Date(full.to - 1);
  const months = { "1M": 1, "3M": 3, YTD: 0, "1Y": 12 }[stretch];
  const from = months ? Date.UTC(day.getUTCFullYear(), day.getUTCMonth() - months, day.getUTCDate(), day.getUTCHours(), day.getUTCMinutes()) : Date.UTC(day.getUTCFullYear(), 0);
  return { from: Math.max(full.from, from), to: full.to };
}

/** The view on a moment: as it is when the moment can be told apart there, else some hundred candles around it. */
export function reveal(visible: Span, at: number, full: Span, candle: number): Span {
  const inside = at >= visible.from && at <= visible.to;
  const size = Math.min(200 * candle, length(full));
  if (length(visible) <= 4 * size) {
    if (inside) return visible;
    return pan({ from: at - length(visible) / 2, to: at + length(visible) / 2 }, 0, full);
  }
  return pan({ from: at - size / 2, to: at + size / 2 }, 0, full);
}
