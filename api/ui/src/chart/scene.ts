// What the chart shows at a moment, made from what was loaded: everything on one axis.
import type { CandleTuple, EquityTuple, FillsTuple, LineTuple, Trade } from "../api/types.ts";
import { alignEquity, alignFills, alignLine, candleAxis, closeSlotOf, equityAxis, joined, noAxis, slotOf } from "./align.ts";
import type { Axis, Mark } from "./align.ts";
import { moneyDigits, priceDigits } from "./scale.ts";

/** Points as the service sent them. */
export interface Parts {
  candles: CandleTuple[];
  /** How long a slot is, ms, and of how many candles. */
  step: number;
  each: number;
  /** Until when the run has seen the candles: a backtest knows its whole window from the begin. */
  now: number;
  /** The merged candle that the run is within, as far as it has got. */
  head: CandleTuple | null;
  equity: EquityTuple[];
  fills: FillsTuple[];
  /** Whether the fills of each candle have a point of their own. */
  counted: boolean;
  /** Trades that are drawn beside the selected one. */
  trades: readonly Trade[];
  /** What the answers leave out; "" for nothing. */
  left: string;
  /** So many slots share a marker. */
  every: number;
  lines: ReadonlyMap<string, LineTuple[]>;
  /** Of how many points the longest of the thinned lines is made; 0 where none is thinned. */
  of: number;
}

export interface Scene {
  axis: Axis;
  candles: CandleTuple[];
  each: number;
  equity: EquityTuple[];
  fills: Mark[];
  counted: boolean;
  trades: readonly Trade[];
  left: string;
  marks: Mark[];
  lines: ReadonlyMap<string, LineTuple[]>;
  of: number;
  reach: Reach;
  /** Decimals of prices and of money. */
  digits: { price: number; money: number };
}

/** How far the run has got; -1 is nowhere yet. */
export interface Reach {
  /** The slot that it is in. */
  slot: number;
  /** The newest slot whose candle tells nothing of what the run has not seen. */
  priced: number;
  /** The candle of that slot where it is not the whole one. */
  head: CandleTuple | null;
}

export const nothing: Parts = { candles: [], step: 0, each: 1, now: Infinity, head: null, equity: [], fills: [], counted: true, trades: [], left: "", every: 1, lines: new Map(), of: 0 };
export const emptyScene: Scene = {
  axis: noAxis, candles: [], each: 1, equity: [], fills: [], counted: true, trades: [], left: "", marks: [], lines: new Map(), of: 0, reach: { slot: -1, priced: -1, head: null },
  digits: { price: 0, money: 2 },
};

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
  const sameEquity = parts.equity === was.equity;
  const sameCandles = parts.candles === was.candles && parts.step === was.step && old.candles.length > 0;
  const all = () => rising(drawable(parts.candles, 5)), money = () => drawable(parts.equity, 4);
  const plain = sameCandles ? old.candles : all();
  const axis = sameCandles || (!plain.length && sameEquity && old.axis.closing) ? old.axis
    : plain.length ? candleAxis(plain, parts.step) : equityAxis(money());
  const same = axis === old.axis;
  const reach = reachOf(axis, parts);
  const candles = sameCandles && reach.head === old.reach.head ? plain : withHead(axis, sameCandles ? all() : plain, reach.head);
  const equity = same && sameEquity ? old.equity : alignEquity(axis, money());
  const fills = same && parts.fills === was.fills ? old.fills : alignFills(axis, parts.fills);
  const lines = new Map<string, LineTuple[]>();
  for (const [name, line] of parts.lines) {
    const known = same && was.lines.get(name) === line ? old.lines.get(name) : undefined;
    lines.set(name, known ?? alignLine(axis, around(axis, drawable(line, 2))));
  }
  return {
    axis, candles, equity, fills, lines, reach,
    each: parts.each, counted: parts.counted, trades: parts.trades, left: parts.left, of: parts.of,
    marks: fills === old.fills && parts.every === was.every ? old.marks : joined(fills, parts.every),
    digits: {
      price: sameCandles ? old.digits.price : priceDigits(candles),
      money: equity === old.equity ? old.digits.money : moneyDigits(equity.map((p) => p[1])),
    },
  };
}

function reachOf(axis: Axis, { now, head, each, step }: Parts): Reach {
  const last = axis.times.length - 1;
  if (now === Infinity || axis.closing) return { slot: last, priced: last, head: null };
  if (last < 0 || now <= axis.times[0]!) return { slot: -1, priced: -1, head: null };
  const slot = closeSlotOf(axis, now), begin = axis.times[slot]!;
  // Merged candles with gaps between them last longer than they should.
  const end = each === 1 ? begin + step : axis.times[slot + 1] ?? axis.end;
  if (end <= now) return { slot, priced: slot, head: null };
  return head?.[0] === begin ? { slot, priced: slot, head } : { slot, priced: slot - 1, head: null };
}

function withHead(axis: Axis, candles: CandleTuple[], head: CandleTuple | null): CandleTuple[] {
  return head ? candles.with(slotOf(axis, head[0]), head) : candles;
}

/** The newest price that the run has seen. */
export function lastPrice(parts: Parts): number | null {
  const { priced, head } = reachOf(candleAxis(parts.candles, parts.step), parts);
  return (head ?? parts.candles[priced])?.[4] ?? null;
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

/** What holding so many units is worth at the close of a candle. */
export const heldValue = (unit: number, candle: CandleTuple): number => unit * candle[4];

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
  /** It stands for so many slots. */
  slots: number;
  candle: CandleTuple | null;
  equity: EquityTuple | null;
  fills: number;
}

/** The slots from first to last that the run has come to, as at most limit rows: candles and counts exactly merged, the last equity, the worst drawdown. */
export function tableRows(scene: Scene, first: number, last: number, limit: number): TableRow[] {
  const from = Math.max(0, Math.ceil(first)), to = Math.min(scene.reach.slot, Math.floor(last));
  if (to < from) return [];
  const size = Math.ceil((to - from + 1) / limit);
  const rows: TableRow[] = [];
  for (let i = from; i <= to; i += size) {
    const end = Math.min(i + size, to + 1), candles = scene.candles.slice(i, Math.min(end, scene.reach.priced + 1));
    rows.push({ time: scene.axis.times[i]!, slots: end - i, candle: candles.length ? merge(candles) : null, equity: null, fills: 0 });
  }
  const rowAt = (slot: number) => (slot >= from && slot <= to ? rows[Math.floor((slot - from) / size)] : undefined);
  for (const p of scene.equity) {
    const row = rowAt(slotOf(scene.axis, p[0]));
    if (row) row.equity = [p[0], p[1], p[2], Math.max(row.equity?.[3] ?? 0, p[3])];
  }
  for (const m of scene.fills) {
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

/** What is under the crosshair: the candle of a slot, the marker that it belongs to, lines as they stood then. */
export interface Reading {
  time: number;
  /** The run has not come to it. */
  ahead: boolean;
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
    time, lines, ahead: slot > scene.reach.priced,
    candle: scene.candles[slot] ?? null,
    equity: atOrBefore(scene.equity, time) ?? null,
    mark: scene.marks.find((m) => m.slot <= slot && slot <= m.last) ?? null,
  };
}

/** What is read without a pointer: as readingAt, but no price that the run has not seen, and the newest equity. */
export function seenAt(scene: Scene, slot: number): Reading | null {
  const reading = readingAt(scene, slot), { priced } = scene.reach;
  if (!reading) return null;
  const prices = slot <= priced ? reading : readingAt(scene, priced);
  return { ...reading, ahead: false, candle: prices?.candle ?? null, mark: prices?.mark ?? null, equity: reading.equity ?? scene.equity.at(-1) ?? null };
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
