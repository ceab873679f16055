// Puts series of different times on the slots of one axis. The chart library gives each
// distinct time a place of its own, so a point that is not on a slot would widen the axis:
// equity closes an hour after its candle opened and would double it.
import type { CandleTuple, EquityTuple, FillsTuple, LineTuple } from "../api/types.ts";

/** The slots of the time axis: where each begins, ms ascending, and where the last one ends. */
export interface Axis {
  times: number[];
  end: number;
  /** The slots are close times themselves: there are no candles. */
  closing: boolean;
}

/** The fills of a slot, or of several from slot to last. */
export interface Mark {
  slot: number;
  last: number;
  buys: number;
  sells: number;
  ambiguous: number;
}

export const noAxis: Axis = { times: [], end: 0, closing: false };

/** The first index whose time is greater than t (or not less than t). */
export function after(times: readonly number[], t: number, orAt = false): number {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const value = times[middle]!;
    if (value > t || (orAt && value === t)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The slot in which an open time lies; moments outside belong to the outer slots, -1 without slots. */
export function slotOf(axis: Axis, t: number): number {
  return axis.times.length ? Math.max(0, after(axis.times, t) - 1) : -1;
}

/** The slot that a close time ends: a candle from 1 to 2 o'clock closes at 2. */
export function closeSlotOf(axis: Axis, t: number): number {
  if (axis.closing) return slotOf(axis, t);
  return axis.times.length ? Math.max(0, after(axis.times, t, true) - 1) : -1;
}

/** The axis of candles whose slots are at least step long. */
export function candleAxis(candles: readonly CandleTuple[], step: number): Axis {
  const times = rising(candles.map((c) => c[0]));
  return { times, end: (times.at(-1) ?? 0) + step, closing: false };
}

/** The axis of equity alone, when there are no candles. */
export function equityAxis(points: readonly EquityTuple[]): Axis {
  const times = rising(points.map((p) => p[0]));
  const last = times.at(-1) ?? 0;
  return { times, end: last + Math.max(1, last - (times.at(-2) ?? last)), closing: true };
}

function rising(times: number[]): number[] {
  return times.filter((t, i) => i === 0 || t > times[i - 1]!);
}

/**
 * Equity on slots, at most one point each: the last cash, the worst drawdown, and the last
 * equity unless a slot holds an extreme of the whole. The very last point stays: it is the
 * result of the run.
 */
export function alignEquity(axis: Axis, points: readonly EquityTuple[]): EquityTuple[] {
  const kept = extremes(points.map((p) => p[1]));
  const out: EquityTuple[] = [];
  let slot = -1, held = false;
  points.forEach((p, i) => {
    const at = closeSlotOf(axis, p[0]);
    if (at < 0) return;
    const extreme = kept.has(i);
    if (at !== slot) {
      out.push([axis.times[at]!, p[1], p[2], p[3]]);
      [slot, held] = [at, extreme];
      return;
    }
    const point = out.at(-1)!;
    if (extreme || !held || i === points.length - 1) point[1] = p[1];
    point[2] = p[2];
    point[3] = Math.max(point[3], p[3]);
    held ||= extreme;
  });
  return out;
}

/** A published line on slots: the last value of each unless it holds an extreme. */
export function alignLine(axis: Axis, points: readonly LineTuple[]): LineTuple[] {
  const kept = extremes(points.map((p) => p[1]));
  const out: LineTuple[] = [];
  let slot = -1, held = false;
  points.forEach(([t, value], i) => {
    const at = closeSlotOf(axis, t);
    if (at < 0 || !Number.isFinite(value)) return;
    if (at !== slot) {
      out.push([axis.times[at]!, value]);
      [slot, held] = [at, kept.has(i)];
    } else if (!held || kept.has(i)) {
      out.at(-1)![1] = value;
      held ||= kept.has(i);
    }
  });
  return out;
}

/** Fills on slots, one mark for each that has some; none is lost, those outside count for the outer slots. */
export function alignFills(axis: Axis, points: readonly FillsTuple[]): Mark[] {
  return joined(points.flatMap(([t, buys, sells, ambiguous]) => {
    const slot = slotOf(axis, t);
    return slot < 0 || buys + sells === 0 ? [] : [{ slot, last: slot, buys, sells, ambiguous }];
  }), 1);
}

/** One mark for every so many slots, where there are several. */
export function joined(marks: readonly Mark[], every: number): Mark[] {
  const out: Mark[] = [];
  for (const mark of marks) {
    const last = out.at(-1);
    if (last && Math.floor(last.slot / every) === Math.floor(mark.slot / every)) {
      last.last = mark.last;
      last.buys += mark.buys;
      last.sells += mark.sells;
      last.ambiguous += mark.ambiguous;
    } else {
      out.push({ ...mark });
    }
  }
  return out;
}

/** The indexes of the lowest and the highest value. */
function extremes(values: readonly number[]): Set<number> {
  let low = 0, high = 0;
  values.forEach((v, i) => {
    if (v < values[low]!) low = i;
    if (v > values[high]!) high = i;
  });
  return new Set([low, high]);
}

/** Candles with one more: a newer state of the last, or a new slot once step has passed. */
export function addCandle(candles: readonly CandleTuple[], c: CandleTuple, step: number): CandleTuple[] {
  const last = candles.at(-1);
  if (!last || c[0] >= last[0] + step) return [...candles, c];
  if (c[0] < last[0]) return candles.slice();
  if (c[0] === last[0]) return [...candles.slice(0, -1), c];
  const merged: CandleTuple = [last[0], last[1], Math.max(last[2], c[2]), Math.min(last[3], c[3]), c[4], last[5]];
  return [...candles.slice(0, -1), merged];
}

/** Equity as it was asked for, with what has come since. */
export function withTail(points: readonly EquityTuple[], newer: readonly EquityTuple[]): EquityTuple[] {
  const last = points.at(-1)?.[0] ?? -Infinity;
  return [...points, ...newer.filter((p) => p[0] > last)];
}

/** 15m, 1h, 1d, 1w as ms; 0 for what is no timeframe. */
export function timeframeMs(text: string): number {
  const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000, M: 2_592_000_000 };
  const match = /^(\d+)([smhdwM])$/.exec(text);
  return match ? Number(match[1]) * units[match[2]!]! : 0;
}
