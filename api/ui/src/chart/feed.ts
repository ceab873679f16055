// Loads what the chart shows: the whole run once, a stretch of it when zoomed in. Answers
// to questions that nobody asks any more are dropped.
import type { CandleTuple, EquityTuple, FillsTuple, LineTuple, SeriesRequest, SeriesResult } from "../api/types.ts";
import type { Source } from "../state/source.ts";
import { addCandle, withTail } from "./align.ts";
import { length } from "./range.ts";
import type { Loaded, Span } from "./range.ts";
import { nothing } from "./scene.ts";
import type { Parts } from "./scene.ts";

const mostPoints = 2000;
/** Two markers each at most, and never closer than the eye tells apart. */
const mostMarks = 250;
const markWidth = 22;

/** What the answers depend on. */
export interface Wish {
  source: Source;
  symbol: string;
  /** Of a candle, ms. */
  timeframe: number;
  /** The published series to show. */
  lines: string[];
  /** Width of the plot, pixels. */
  width: number;
  /** Polling has no candles. */
  candles: boolean;
  /** What came by itself: more than the answers while a run goes on, all there is without a stream. */
  equity: EquityTuple[];
}

/** Parts and what they were loaded for. */
export interface Load extends Loaded {
  parts: Parts;
}

export class Feed {
  /** The whole run. */
  overview: Load | null = null;
  /** The stretch that is shown instead, if any. */
  detail: Load | null = null;
  private turn = 0;

  /** changed is called when there is something new to draw. */
  constructor(private readonly changed: () => void) {}

  get shown(): Load | null {
    return this.detail ?? this.overview;
  }

  /** The price when equity was last known: a backtest knows all its candles from the begin. */
  lastPrice(): number | null {
    const { candles, equity } = this.overview?.parts ?? nothing;
    const now = equity.at(-1)?.[0];
    if (now === undefined) return null;
    return candles.findLast((c) => c[0] < now)?.[4] ?? null;
  }

  /** Forgets everything, answers under way too. */
  clear() {
    this.turn++;
    this.overview = this.detail = null;
  }

  /** Back to the whole run, from memory. */
  showOverview() {
    if (!this.detail) return;
    this.turn++;
    this.detail = null;
    this.changed();
  }

  /** Loads a stretch for a view, or with null the whole run. False: there was nothing to be had. */
  async load(wish: Wish, span: Span | null, view: Span | null): Promise<boolean> {
    const turn = ++this.turn;
    const before = this.shown?.parts ?? nothing;
    const ask = asker(wish.source, span);
    const many = marksFor(wish.width, span, view);
    const [candles, equity, fills] = await Promise.all([
      wish.candles ? ask("candles", mostPoints, wish.symbol) : null,
      ask("equity", mostPoints),
      wish.candles ? ask("fills", many, wish.symbol) : null,
    ]);
    if (turn !== this.turn) return true;
    const parts: Parts = {
      candles: (candles?.points as CandleTuple[]) ?? (wish.candles ? before.candles : []),
      step: stepOf(candles, wish.timeframe) || before.step,
      equity: (equity?.points as EquityTuple[]) ?? inside(wish.equity, span),
      fills: (fills?.points as FillsTuple[]) ?? [],
      every: Math.max(1, Math.round((candles?.points.length ?? 0) / marksFor(wish.width, span, view))),
      lines: new Map([...before.lines].filter(([name]) => wish.lines.includes(name))),
    };
    const load = loadOf(parts, span, view, candles, fills);
    if (span) this.detail = load;
    else [this.overview, this.detail] = [load, null];
    this.changed();
    void this.loadLines(wish, load, wish.lines, turn);
    return candles !== null || !wish.candles;
  }

  /** Published series that were switched on or have just appeared. */
  async addLines(wish: Wish): Promise<void> {
    const load = this.shown;
    if (load) await this.loadLines(wish, load, wish.lines.filter((name) => !load.parts.lines.has(name)), this.turn);
  }

  /** The published series again: a run goes on. */
  async refreshLines(wish: Wish): Promise<void> {
    if (this.shown) await this.loadLines(wish, this.shown, wish.lines, this.turn);
  }

  private async loadLines(wish: Wish, load: Load, names: string[], turn: number) {
    const ask = asker(wish.source, load === this.detail ? load.span : null);
    await Promise.all(names.map(async (name) => {
      const answer = await ask(`annotation:${name}`, mostPoints);
      if (!answer || turn !== this.turn) return;
      load.parts = { ...load.parts, lines: new Map(load.parts.lines).set(name, answer.points as LineTuple[]) };
      this.changed();
    }));
  }

  /** The markers again: fills have come. */
  async refreshMarks(wish: Wish, view: Span | null): Promise<void> {
    const load = this.shown, turn = this.turn;
    if (!load || !wish.candles) return;
    const span = load === this.detail ? load.span : null;
    const answer = await asker(wish.source, span)("fills", marksFor(wish.width, span, view), wish.symbol);
    if (!answer || turn !== this.turn || load !== this.shown) return;
    load.parts = { ...load.parts, fills: answer.points as FillsTuple[] };
    this.changed();
  }

  /** Equity that came by itself. */
  grow(equity: EquityTuple[]) {
    if (this.overview) {
      this.overview.parts = { ...this.overview.parts, equity };
      if (!this.overview.parts.candles.length) this.overview.span = spanOf(this.overview.parts);
    }
    if (this.detail) {
      const parts = this.detail.parts;
      this.detail.parts = { ...parts, equity: withTail(parts.equity, inside(equity, this.detail.span)) };
    }
    this.changed();
  }

  /** A candle that came by itself. */
  push(candle: CandleTuple) {
    for (const load of [this.overview, this.detail]) {
      const atEnd = load && load.parts.candles.length > 0 && load.span.to >= (this.overview?.span.to ?? 0);
      if (!atEnd) continue;
      const { parts, span } = load;
      load.parts = { ...parts, candles: addCandle(parts.candles, candle, parts.step) };
      load.span = { from: span.from, to: Math.max(span.to, candle[0] + parts.step) };
    }
    this.changed();
  }
}

type Ask = (series: SeriesRequest["series"], maxPoints: number, symbol?: string) => Promise<SeriesResult | null>;

/** Asks for series of a stretch; null for what cannot be had now. */
function asker(source: Source, span: Span | null): Ask {
  return async (series, maxPoints, symbol) => {
    const request: SeriesRequest = { series, maxPoints };
    if (symbol) request.symbol = symbol;
    // A close time belongs to the candle that it ends, so these stretches begin a moment later.
    const shift = series === "candles" || series === "fills" ? 0 : 1;
    if (span) [request.from, request.to] = [span.from + shift, span.to + shift];
    try {
      return await source.series(request);
    } catch {
      return null;
    }
  };
}

/** How many marks: one for each marker's width in the view. */
function marksFor(width: number, span: Span | null, view: Span | null): number {
  const share = span && view ? length(span) / Math.max(1, length(view)) : 1;
  return Math.min(mostMarks, Math.max(2, Math.ceil((width / markWidth) * share)));
}

function stepOf(candles: SeriesResult | null, timeframe: number): number {
  if (!candles?.points.length) return 0;
  return timeframe ? Math.ceil(candles.of / candles.points.length) * timeframe : leastGap(candles.points);
}

function leastGap(points: number[][]): number {
  let least = Infinity;
  for (let i = 1; i < points.length; i++) least = Math.min(least, points[i]![0]! - points[i - 1]![0]!);
  return Number.isFinite(least) ? least : 60_000;
}

function loadOf(parts: Parts, span: Span | null, view: Span | null, candles: SeriesResult | null, fills: SeriesResult | null): Load {
  const whole = spanOf(parts);
  const each = (r: SeriesResult | null) => !r || r.points.length === r.of || r.method === "none";
  return { parts, span: span ?? whole, view: length(view ?? span ?? whole), exact: each(candles) && each(fills) };
}

function spanOf(parts: Parts): Span {
  const points: number[][] = parts.candles.length ? parts.candles : parts.equity;
  return { from: points[0]?.[0] ?? 0, to: (points.at(-1)?.[0] ?? 0) + parts.step };
}

const inside = (points: EquityTuple[], span: Span | null) => (span ? points.filter((p) => p[0] > span.from && p[0] <= span.to) : points);
