// What the chart shows at a moment, made from what was loaded: everything on one axis.
import type { CandleTuple, EquityTuple, FillsTuple, LineTuple } from "../api/types.ts";
import { alignEquity, alignFills, alignLine, candleAxis, equityAxis, noAxis, slotOf } from "./align.ts";
import type { Axis, Mark } from "./align.ts";

/** Points as the service sent them. */
export interface Parts {
  candles: CandleTuple[];
  /** How long a slot is, ms. */
  step: number;
  equity: EquityTuple[];
  fills: FillsTuple[];
  /** So many slots share a mark of fills. */
  every: number;
  lines: ReadonlyMap<string, LineTuple[]>;
}

export interface Scene {
  axis: Axis;
  candles: CandleTuple[];
  equity: EquityTuple[];
  marks: Mark[];
  lines: ReadonlyMap<string, LineTuple[]>;
}

export const nothing: Parts = { candles: [], step: 0, equity: [], fills: [], every: 1, lines: new Map() };
export const emptyScene: Scene = { axis: noAxis, candles: [], equity: [], marks: [], lines: new Map() };

/** Points that the chart can draw: whatever is not a number is left out. */
function drawable<T extends number[]>(points: readonly T[], columns: number): T[] {
  return points.filter((p) => {
    for (let i = 0; i < columns; i++) if (!Number.isFinite(p[i])) return false;
    return true;
  });
}

/** A scene and what it was made from. */
export interface Made {
  parts: Parts;
  scene: Scene;
}

/** Makes a scene and takes over from the one before whatever is still the same: equity alone grows ten times as often as the rest. */
export function sceneOf(parts: Parts, before: Made = { parts: nothing, scene: emptyScene }): Scene {
  const { parts: was, scene: old } = before;
  const equity = drawable(parts.equity, 4);
  const sameCandles = parts.candles === was.candles && parts.step === was.step && old.candles.length > 0;
  const candles = sameCandles ? old.candles : rising(drawable(parts.candles, 5));
  const axis = sameCandles ? old.axis : candles.length ? candleAxis(candles, parts.step) : equityAxis(equity);
  const same = axis === old.axis;
  const lines = new Map<string, LineTuple[]>();
  for (const [name, points] of parts.lines) {
    const known = same && was.lines.get(name) === points ? old.lines.get(name) : undefined;
    lines.set(name, known ?? alignLine(axis, around(axis, drawable(points, 2))));
  }
  return {
    axis, candles, lines,
    equity: same && parts.equity === was.equity ? old.equity : alignEquity(axis, equity),
    marks: same && parts.fills === was.fills ? old.marks : alignFills(axis, parts.fills, parts.every),
  };
}

/** Without points that are not after the one before. */
function rising<T extends number[]>(points: T[]): T[] {
  return points.filter((p, i) => i === 0 || p[0]! > points[i - 1]![0]!);
}

/** The points between the axis' ends: those of an earlier, wider view must not pile up in the outer slots. */
function around<T extends number[]>(axis: Axis, points: readonly T[]): T[] {
  const first = axis.times[0];
  if (first === undefined) return [];
  return points.filter((p) => p[0]! >= first && p[0]! <= axis.end);
}

/** Points so many slots behind the one before that no line should pretend to know what was between. */
export function farApart(points: readonly LineTuple[], axis: Axis): Set<number> {
  const slots = points.map((p) => slotOf(axis, p[0]));
  const gaps = slots.slice(1).map((slot, i) => slot - slots[i]!);
  const usual = gaps.toSorted((a, b) => a - b)[gaps.length >> 1] ?? 0;
  return new Set(gaps.flatMap((gap, i) => (gap > 8 * usual + 2 ? [i + 1] : [])));
}

/** Counts and extremes of a scene, for the summary and for tests. */
export interface Digest {
  fills: number;
  markers: number;
  ambiguous: number;
  worst: number | null;
  low: number | null;
  high: number | null;
}

export function digestOf(scene: Scene): Digest {
  const d: Digest = { fills: 0, markers: 0, ambiguous: 0, worst: null, low: null, high: null };
  for (const m of scene.marks) {
    d.fills += m.buys + m.sells;
    d.markers += Number(m.buys > 0) + Number(m.sells > 0);
    d.ambiguous += m.ambiguous;
  }
  for (const p of scene.equity) d.worst = Math.max(d.worst ?? 0, p[3]);
  for (const c of scene.candles) {
    d.low = Math.min(d.low ?? c[3], c[3]);
    d.high = Math.max(d.high ?? c[2], c[2]);
  }
  return d;
}

/** A row of the table that says what the chart shows. */
export interface TableRow {
  time: number;
  candle: CandleTuple | null;
  equity: EquityTuple | null;
  fills: number;
}

/** The slots from first to last as at most limit rows: candles and counts exactly merged, the last equity, the worst drawdown. */
export function tableRows(scene: Scene, first: number, last: number, limit: number): TableRow[] {
  const from = Math.max(0, Math.ceil(first)), to = Math.min(scene.axis.times.length - 1, Math.floor(last));
  if (to < from) return [];
  const size = Math.ceil((to - from + 1) / limit);
  const rows: TableRow[] = [];
  for (let i = from; i <= to; i += size) {
    const candles = scene.candles.slice(i, Math.min(i + size, to + 1));
    rows.push({ time: scene.axis.times[i]!, candle: candles.length ? merge(candles) : null, equity: null, fills: 0 });
  }
  const rowAt = (slot: number) => (slot >= from && slot <= to ? rows[Math.floor((slot - from) / size)] : undefined);
  for (const p of scene.equity) {
    const row = rowAt(slotOf(scene.axis, p[0]));
    if (row) row.equity = [p[0], p[1], p[2], Math.max(row.equity?.[3] ?? 0, p[3])];
  }
  for (const m of scene.marks) {
    const row = rowAt(m.slot);
    if (row) row.fills += m.buys + m.sells;
  }
  return rows;
}

function merge(candles: CandleTuple[]): CandleTuple {
  const [first, last] = [candles[0]!, candles.at(-1)!];
  const out: CandleTuple = [first[0], first[1], first[2], first[3], last[4], 0];
  for (const c of candles) {
    out[2] = Math.max(out[2], c[2]);
    out[3] = Math.min(out[3], c[3]);
    out[5] += c[5];
  }
  return out;
}

/** What is under the crosshair: the candle and fills of a slot, lines as they stood then. */
export interface Reading {
  time: number;
  candle: CandleTuple | null;
  equity: EquityTuple | null;
  mark: Mark | null;
  lines: ReadonlyMap<string, number>;
}

export function readingAt(scene: Scene, slot: number): Reading | null {
  const time = scene.axis.times[slot];
  if (time === undefined) return null;
  const lines = new Map<string, number>();
  for (const [name, points] of scene.lines) {
    const value = atOrBefore(points, time)?.[1];
    if (value !== undefined) lines.set(name, value);
  }
  return {
    time, lines,
    candle: scene.candles[slot] ?? null,
    equity: atOrBefore(scene.equity, time) ?? null,
    mark: scene.marks.find((m) => m.slot === slot) ?? null,
  };
}

/** Where reading begins: the newest slot that equity has reached, for a backtest knows all its candles from the begin. */
export function newestSlot(scene: Scene): number {
  const last = scene.equity.at(-1);
  return last ? slotOf(scene.axis, last[0]) : scene.axis.times.length - 1;
}

/** The point that holds at a time; none holds beyond the last one. */
function atOrBefore<T extends number[]>(points: readonly T[], time: number): T | undefined {
  if (time > (points.at(-1)?.[0] ?? -Infinity)) return undefined;
  let low = 0, high = points.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (points[middle]![0]! > time) high = middle;
    else low = middle + 1;
  }
  return points[low - 1];
}
