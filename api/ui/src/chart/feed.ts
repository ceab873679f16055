// Loads what the chart shows: the whole run once, a stretch of it when zoomed in. Answers
// to requests that are no longer wanted are dropped.
import type { CandleTuple, EquityTuple, FillsTuple, LineTuple, SeriesRequest, SeriesResult } from "../api/types.ts";
import type { Source } from "../state/source.ts";
import { addCandle, withTail } from "./align.ts";
import { length } from "./range.ts";
import type { Loaded, Span } from "./range.ts";
import { lastPrice, nothing } from "./scene.ts";
import type { Parts } from "./scene.ts";

const mostPoints = 2000;
/** Fills are counted in a table too: as finely as the service counts them. */
const mostFills = 4000;
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
  /** The run has not seen all candles: a backtest that goes on, or got nowhere. */
  ahead: boolean;
  /** Only candles before this moment, the end of the run; null for all there are. */
  until: number | null;
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
  /** When the newest candle opened that is known for sure, ms; 0 before the first. */
  private newest = 0;
  /** The turn whose answers are awaited. */
  private loading = 0;

  /** changed is called when there is something new to draw. */
  constructor(private readonly changed: () => void) {}

  get shown(): Load | null {
    return this.detail ?? this.overview;
  }

  /** The newest price that the run has seen. */
  lastPrice(): number | null {
    return lastPrice(this.overview?.parts ?? nothing);
  }

  /** Forgets everything, answers under way too. */
  clear() {
    this.turn++;
    this.newest = 0;
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
    const turn = (this.loading = ++this.turn);
    const before = this.shown?.parts ?? nothing;
    const ask = asker(wish.source, span);
    const [candles, equity, fills] = await Promise.all([
      wish.candles ? asker(wish.source, { from: span?.from, to: ending(span?.to, wish.until) })("candles", mostPoints, wish.symbol) : null,
      ask("equity", mostPoints),
      wish.candles ? ask("fills", mostFills, wish.symbol) : null,
    ]);
    if (turn !== this.turn) return true;
    this.loading = 0;
    const whole = this.overview?.parts ?? nothing; // markers may have been asked for again meanwhile
    const bars = (candles?.points as CandleTuple[]) ?? (wish.candles ? before.candles : []);
    const parts: Parts = {
      candles: bars,
      ...(slotOf(candles, wish.timeframe) ?? { step: before.step, each: before.each }),
      now: wish.ahead ? newest(wish.equity) : Infinity, head: null,
      equity: (equity?.points as EquityTuple[]) ?? inside(wish.equity, span),
      ...(fills ? fillsOf(fills) : { fills: happened(whole.fills, span), counted: whole.counted, trades: [] }),
      left: (equity?.left ?? "") + (fills?.left ?? ""),
      every: Math.max(1, Math.ceil(bars.length / marksFor(wish.width, span, view))),
      lines: new Map([...before.lines].filter(([name]) => wish.lines.includes(name))), of: 0,
    };
    const load = loadOf(parts, span, view, candles);
    if (span) this.detail = load;
    else [this.overview, this.detail, this.newest] = [load, null, newestOf(parts, wish.timeframe)];
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
      const answer = await ask(`annotation:${name}`, mostPoints, wish.symbol);
      if (!answer || turn !== this.turn) return;
      const thinned = answer.method === "none" ? 0 : answer.of;
      load.parts = { ...load.parts, lines: new Map(load.parts.lines).set(name, answer.points as LineTuple[]), of: Math.max(load.parts.of, thinned) };
      this.changed();
    }));
  }

  /** The merged candle that the run is within, as far as it has got by now. */
  async refreshHead(wish: Wish): Promise<void> {
    const turn = this.turn;
    // A question of the same kind would push aside those that a load waits for.
    if (this.loading) return;
    for (const load of [this.overview, this.detail]) {
      if (!load || load.parts.each === 1 || load.parts.now === Infinity) continue;
      const { now, candles } = load.parts, from = candles.findLast((c) => c[0] < now)?.[0];
      if (from === undefined) continue;
      const answer = await asker(wish.source, { from, to: now })("candles", 1, wish.symbol);
      if (turn !== this.turn) return;
      load.parts = { ...load.parts, head: (answer?.points[0] as CandleTuple) ?? null };
    }
    this.changed();
  }

  /** The markers again: fills have come. */
  async refreshMarks(wish: Wish): Promise<void> {
    const turn = this.turn, span = this.detail?.span ?? null;
    if (!this.shown || !wish.candles) return;
    const answer = await asker(wish.source, span)("fills", mostFills, wish.symbol);
    // A load that has ended meanwhile may be without them: this question pushed its own aside.
    const load = this.shown;
    if (!answer || turn !== this.turn || span !== (this.detail?.span ?? null)) return;
    load.parts = { ...load.parts, ...fillsOf(answer) };
    this.changed();
  }

  /** Equity that came by itself. */
  grow(equity: EquityTuple[]) {
    for (const load of [this.overview, this.detail]) {
      if (!load) continue;
      const { parts } = load, now = parts.now === Infinity ? Infinity : newest(equity);
      load.parts = { ...parts, now, equity: load === this.overview ? equity : withTail(parts.equity, inside(equity, load.span)) };
    }
    if (this.overview && !this.overview.parts.candles.length) this.overview.span = spanOf(this.overview.parts);
    this.changed();
  }

  /** A candle that came by itself. False: there may be others before it, which the service does not send when they are many. */
  push(candle: CandleTuple, timeframe: number): boolean {
    const known = this.overview?.parts, next = this.newest + (timeframe || known?.step || 0);
    const whole = candle[0] <= next && known !== undefined && known.candles.length > 0;
    for (const load of this.ends()) {
      // A candle on a slot of its own would leave no room for those before it.
      if (whole || load.parts.each > 1) extend(load, [candle]);
    }
    if (whole || (known && known.each > 1)) this.newest = Math.max(this.newest, candle[0]);
    this.changed();
    return whole;
  }

  /** The candles since the newest one. later: not now; anew: everything has to be asked for again. */
  async catchUp(wish: Wish): Promise<"done" | "later" | "anew"> {
    const turn = this.turn, ends = this.ends(), whole = this.overview?.parts;
    // A question of the same kind would push aside those that a load waits for.
    if (this.loading || !whole) return "later";
    if (!whole.candles.length) return "anew";
    // A merged candle can only be had from the service; a stretch that is looked at stays.
    if (whole.each > 1) return this.detail ? "done" : "anew";
    const answer = await asker(wish.source, { from: Math.min(...ends.map((load) => load.parts.candles.at(-1)![0])) })("candles", mostPoints, wish.symbol);
    if (!answer || turn !== this.turn) return "later";
    if (answer.method !== "none") return "anew";
    for (const load of ends) extend(load, answer.points as CandleTuple[]);
    this.newest = Math.max(this.newest, answer.points.at(-1)?.[0] ?? 0);
    this.changed();
    return "done";
  }

  /** What is loaded up to the newest candle. */
  private ends(): Load[] {
    const to = this.overview?.span.to ?? 0;
    return [this.overview, this.detail].filter((load): load is Load => load !== null && load.parts.candles.length > 0 && load.span.to >= to);
  }
}

type Ask = (series: SeriesRequest["series"], maxPoints: number, symbol?: string) => Promise<SeriesResult | null>;

/** Asks for series of a stretch; null for what cannot be had now. */
function asker(source: Source, span: Partial<Span> | null): Ask {
  return async (series, maxPoints, symbol) => {
    const request: SeriesRequest = { series, maxPoints };
    if (symbol) request.symbol = symbol;
    // A close time belongs to the candle that it ends, so these stretches begin a moment later.
    const shift = series === "candles" || series === "fills" ? 0 : 1;
    if (span?.from !== undefined) request.from = span.from + shift;
    if (span?.to !== undefined) request.to = span.to + shift;
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

/** When equity was last known. */
const newest = (equity: EquityTuple[]): number => equity.at(-1)?.[0] ?? 0;

/** The earlier of two ends, where there are any. */
function ending(to: number | undefined, until: number | null): number | undefined {
  return until === null ? to : Math.min(to ?? until, until);
}

/** How long a slot of these candles is, and of how many it is made. */
function slotOf(candles: SeriesResult | null, timeframe: number): Pick<Parts, "step" | "each"> | null {
  if (!candles?.points.length) return null;
  const usual = usualGap(candles.points) || timeframe || 60_000;
  if (candles.method === "none" || !timeframe) return { step: timeframe || usual, each: 1 };
  // The first and the last may be of fewer candles, and the market may have been closed.
  const each = Math.max(Math.ceil(candles.of / candles.points.length), Math.round(usual / timeframe));
  return { step: each * timeframe, each };
}

function usualGap(points: number[][]): number {
  const gaps = points.slice(1).map((p, i) => p[0]! - points[i]![0]!);
  return gaps.sort((a, b) => a - b)[gaps.length >> 1] ?? 0;
}

/** More candles with fills than it was asked for are joined by the service, two and two until they are few enough. */
function fillsOf({ points, trades = [] }: SeriesResult): Pick<Parts, "fills" | "counted" | "trades"> {
  return { fills: points as FillsTuple[], counted: points.length <= mostFills / 2, trades };
}

function loadOf(parts: Parts, span: Span | null, view: Span | null, candles: SeriesResult | null): Load {
  const whole = spanOf(parts);
  const single = !candles || candles.points.length === candles.of || candles.method === "none";
  return { parts, span: span ?? whole, view: length(view ?? span ?? whole), exact: single && parts.counted && !parts.left && parts.every === 1 };
}

/** More candles at the end, those that are there already among them. */
function extend(load: Load, candles: readonly CandleTuple[]) {
  const { parts, span } = load;
  const all = candles.reduce<CandleTuple[]>((list, c) => addCandle(list, c, parts.step), parts.candles);
  load.parts = { ...parts, candles: all };
  load.span = { from: span.from, to: Math.max(span.to, (all.at(-1)?.[0] ?? 0) + parts.step) };
}

/** Where the last of these candles opened, which may stand for several. */
const newestOf = ({ candles, each }: Parts, timeframe: number): number => (candles.at(-1)?.[0] ?? 0) + (each - 1) * timeframe;

function spanOf(parts: Parts): Span {
  const points: number[][] = parts.candles.length ? parts.candles : parts.equity;
  return { from: points[0]?.[0] ?? 0, to: (points.at(-1)?.[0] ?? 0) + parts.step };
}

const inside = (points: EquityTuple[], span: Span | null) => (span ? points.filter((p) => p[0] > span.from && p[0] <= span.to) : points);
const happened = (points: FillsTuple[], span: Span | null) => (span ? points.filter((p) => p[0] >= span.from && p[0] < span.to) : points);
