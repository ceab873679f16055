// What the chart of an ended run draws: its candles, and what the strategy published over and below them.
import { read } from "../../api/client.ts";
import type { CandleTuple, LineTuple, Strategy, Trade } from "../../api/types.ts";
import { drawingsOf, type Drawing } from "../../chart/looks.ts";
import { amongPrices } from "../../chart/scale.ts";
import { extent } from "../../plot/scales.ts";
import type { Candles, List, Published, Run } from "../shapes.ts";

/** Each is asked for by itself, so no more than these. */
const mostSeries = 24;

export interface Chart {
  candles: Candles;
  /** The series of the split, and the points of those that are drawn. */
  published: Published;
  lines: Map<string, LineTuple[]>;
  /** The series that are of the run, not of a symbol. */
  common: Set<string>;
  /** Whether some of the points are left out. */
  thinned: boolean;
  strategy: Strategy | undefined;
  /** The first of the split's trades of the symbol, none where the run keeps none. */
  trades: List<Trade>;
}

/** The days that are looked at, as they are typed; "" is the end of the run's own. */
export interface Stretch {
  from: string;
  to: string;
}

const mostTrades = 500;
const none: List<Trade> = { items: [], next_cursor: null, total: 0 };

/** Asks for the chart of a run and one of its symbols; the candles are those of the split that its series are of. */
export const chartOf = (run: Run, symbol: string, { from, to }: Stretch = { from: "", to: "" }) => async (path: string): Promise<Chart> => {
  const seen = { ...(from && { from: from + "T00:00:00Z" }), ...(to && { to: to + "T00:00:00Z" }) };
  const of = String(new URLSearchParams({ ...(symbol && { symbol }), ...seen }));
  const [published, strategies] = await Promise.all([read<Published>(`${path}/series?${symbol && `symbol=${encodeURIComponent(symbol)}`}`), read<Strategy[]>("/strategies")]);
  // A split begins at the close of its first candle, the window at its opening.
  const split = run.splits.find((s) => s.split_id === published.split && s.role !== "full"), { start, end } = split ?? run.window ?? {};
  const asked = (name: string) => `${path}/series?split=${encodeURIComponent(published.split)}&name=${encodeURIComponent(name)}&${of}`;
  // The symbol may have a series of the same name as the run.
  const names = [...new Set(published.items.map((s) => s.name))];
  const [candles, trades, ...series] = await Promise.all([
    read<Candles>(`${path}/candles?${new URLSearchParams({ points: "300", ...(symbol && { symbol }), ...(start && { from: start }), ...(end && { to: end }), ...seen })}`),
    read<List<Trade>>(`${path}/trades?${new URLSearchParams({ limit: String(mostTrades), split: published.split, ...(symbol && { symbol }) })}`).catch(() => none),
    ...names.slice(0, mostSeries).map((name) => read<Published>(asked(name))),
  ]);
  return {
    trades, candles, published: { ...published, total: names.length }, thinned: series.some((s) => s.points.length < s.of),
    lines: new Map(series.map((s) => [s.name!, s.points as LineTuple[]])), common: new Set(series.filter((s) => s.symbol === null).map((s) => s.name!)), strategy: strategies.find((s) => s.sha256 === run.strategy?.sha256),
  };
};

/** A series as it is drawn, with the points of its band's other edge. */
export interface Line extends Drawing {
  name: string;
  points: LineTuple[];
  edge: LineTuple[];
  /** Whether its values count for the scale of its pane; if not, it is drawn on one of its own. */
  shared: boolean;
}

export interface Pane {
  /** "" is over the candles. */
  name: string;
  lines: Line[];
  range: [number, number];
}

/** The panes from the top, that of the candles first; each as high as what it shows. */
export function panesOf({ candles, lines, strategy }: Pick<Chart, "candles" | "lines" | "strategy">, params: Record<string, unknown>): Pane[] {
  const bars = candles.points as CandleTuple[];
  const drawn = [...drawingsOf([...lines.keys()], strategy?.plots ?? [], params)].map(([name, d]): Line => {
    const points = lines.get(name)!;
    return { ...d, name, points, edge: lines.get(d.upper) ?? [], shared: d.declared || amongPrices(points, bars) };
  });
  return [...new Set(["", ...drawn.map((l) => l.pane)])].map((name) => {
    const own = drawn.filter((l) => l.pane === name), counted = own.filter((l) => l.shared);
    const values = [...counted.flatMap((l) => [...l.points, ...l.edge].map((p) => p[1])), ...own.flatMap((l) => l.levels.map((v) => v.value))];
    if (name === "") values.push(...bars.flatMap((c) => [c[2], c[3]]));
    if (own.some((l) => l.kind === "histogram")) values.push(0);
    return { name, lines: own, range: extent(values) };
  });
}

/** A line in pieces: none pretends to know what was between points that are far apart. */
export function pieces(points: LineTuple[], step: number): LineTuple[][] {
  const usual = stepOf(points);
  const out: LineTuple[][] = [];
  points.forEach((p, i) => {
    if (i === 0 || p[0] - points[i - 1]![0] > 8 * usual + 2 * step) out.push([]);
    out.at(-1)!.push(p);
  });
  return out;
}

/** The usual time from one point to the next, ms. */
export function stepOf(points: readonly (readonly (number | null)[])[]): number {
  const gaps = points.slice(1).map((p, i) => p[0]! - points[i]![0]!);
  return gaps.sort((a, b) => a - b)[gaps.length >> 1] ?? 0;
}
