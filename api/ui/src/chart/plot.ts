// The chart library behind one small surface: panes, series, colours, the visible stretch.
import type {
  AutoscaleInfo, IChartApi, IPriceLine, ISeriesApi, ISeriesPrimitive, MouseEventParams, SeriesDataItemTypeMap, SeriesPartialOptionsMap, Time, UTCTimestamp,
} from "lightweight-charts";
import { Band } from "./band.ts";
import { SelectedMoment } from "./cursor.ts";
import { Holding } from "./holding.ts";
import type { Held } from "./holding.ts";
import type { Library } from "./library.ts";
import type { Drawing } from "./looks.ts";
import { FillMarks } from "./marks.ts";
import { NewestValue } from "./newest.ts";
import type { Newest } from "./newest.ts";
import { faded } from "./palette.ts";
import type { Palette } from "./palette.ts";
import { everything } from "./range.ts";
import type { Span } from "./range.ts";
import type { Options } from "./options.ts";
import { axisDrawdown, axisNumber, axisTicks, axisTime, tickText, valueDigits } from "./scale.ts";
import { emptyScene, farApart, heldValue } from "./scene.ts";
import type { Scene } from "./scene.ts";
import { Veil } from "./veil.ts";

/** A price to mark: stop or target of the open position. */
export interface Level {
  title: string;
  price: number;
}

export interface PlotEvents {
  /** The visible stretch of the axis changed, whoever did it. */
  moved(places: Span): void;
  /** The crosshair is on a slot, or left. */
  pointed(slot: number | null): void;
  clicked(slot: number): void;
  resized(): void;
}

/** How a line was asked to be drawn, and whether it shares the scale of the prices. */
export interface LineSpec extends Drawing {
  shared: boolean;
}

type LineSeries = ISeriesApi<"Line"> | ISeriesApi<"Histogram">;

/** What is drawn of a published series: a band has a second edge. */
interface Drawn {
  series: LineSeries;
  upper: ISeriesApi<"Line"> | null;
  band: Band | null;
}

/** So far from a label's middle, in parts of the text's size, the numbers of an axis are under it. */
const near = 1.35;
/** Single points are changed up to so many; beyond, all are given anew. */
const fewChanges = 8;
/** The library counts from the middle of the first visible slot to the middle of the last. */
const half = 0.5;
const at = (ms: number) => (ms / 1000) as UTCTimestamp;
const line = { lineWidth: 1, priceLineVisible: false, lastValueVisible: false, crosshairMarkerRadius: 3 } as const;

export class Plot {
  private readonly chart: IChartApi;
  private readonly candles: ISeriesApi<"Candlestick"> | null;
  private readonly equity: ISeriesApi<"Line">;
  private readonly cash: ISeriesApi<"Line">;
  private readonly drawdown: ISeriesApi<"Baseline">;
  /** What each pane's axis belongs to, from the top. */
  private readonly hosts: (ISeriesApi<"Candlestick"> | ISeriesApi<"Line"> | ISeriesApi<"Baseline">)[];
  private readonly marks: FillMarks;
  private readonly veil: Veil;
  private readonly moments: SelectedMoment[];
  private readonly newest: NewestValue[];
  private readonly holding: ISeriesApi<"Line">;
  private held: number[][] = [];
  private readonly trade: Holding;
  private readonly lines = new Map<string, Drawn>();
  private specs: ReadonlyMap<string, LineSpec> = new Map();
  /** The selected moment in the panes of the strategy. */
  private own: SelectedMoment[] = [];
  private options: Options | null = null;
  private levels: { title: string; line: IPriceLine }[] = [];
  private shown = emptyScene;
  /** Pixels of the text's size. */
  private readonly em: number;

  constructor(private readonly library: Library, element: HTMLElement, private palette: Palette, withCandles: boolean, events: PlotEvents) {
    const { BaselineSeries, CandlestickSeries, LineSeries, createChart } = library;
    const style = getComputedStyle(element), family = style.fontFamily;
    this.em = parseFloat(style.fontSize);
    this.chart = createChart(element, layout(family, this.em));
    const first = withCandles ? 1 : 0;
    this.candles = withCandles ? this.chart.addSeries(CandlestickSeries, { priceLineVisible: false, lastValueVisible: false, autoscaleInfoProvider: (base: () => AutoscaleInfo | null) => this.reach(base()) }, 0) : null;
    this.cash = this.chart.addSeries(LineSeries, line, first);
    this.holding = this.chart.addSeries(LineSeries, { ...line, lineStyle: 2 as number }, first);
    this.equity = this.chart.addSeries(LineSeries, { ...line, lineWidth: 2 }, first);
    this.drawdown = this.chart.addSeries(BaselineSeries, drawdownLook, first + 1);
    this.marks = new FillMarks(palette, family, this.em);
    this.veil = new Veil(palette);
    this.trade = new Holding(palette, `${this.em}px ${family}`);
    for (const part of [this.veil, this.marks, this.trade]) this.candles?.attachPrimitive(part);
    this.hosts = [...(this.candles ? [this.candles] : []), this.equity, this.drawdown];
    this.moments = this.hosts.map((host, i) => {
      const moment = new SelectedMoment(palette, i === 0);
      host.attachPrimitive(moment as ISeriesPrimitive<Time>);
      return moment;
    });
    this.newest = this.hosts.map((host) => {
      const newest = new NewestValue(palette, host === this.candles ? () => this.seen() : undefined);
      host.attachPrimitive(newest as ISeriesPrimitive<Time>);
      return newest;
    });
    this.chart.panes().forEach((pane, i) => {
      const prices = withCandles && i === 0, tickMarkDensity = i === first ? 0.9 : 1.4;
      pane.setStretchFactor(prices ? 5 : 2);
      // Room for the legend; a low pane has its numbers closer together, so that there are some.
      pane.priceScale("right").applyOptions(prices ? { scaleMargins: { top: 0.12, bottom: 0.06 } } : { scaleMargins: { top: 0.26, bottom: 0.12 }, tickMarkDensity });
    });
    this.color(palette);
    this.chart.timeScale().subscribeVisibleLogicalRangeChange((range) => {
      this.number();
      if (range) events.moved({ from: range.from - half, to: range.to + half });
    });
    this.chart.timeScale().subscribeSizeChange(() => events.resized());
    this.chart.subscribeCrosshairMove((p) => events.pointed(slotAt(p, this.shown.axis.times.length)));
    this.chart.subscribeClick((p) => {
      const slot = slotAt(p, this.shown.axis.times.length);
      if (slot !== null) events.clicked(slot);
    });
  }

  remove() {
    this.chart.remove();
  }

  color(palette: Palette) {
    this.palette = palette;
    this.chart.applyOptions({
      layout: { background: { color: palette.panel }, textColor: palette.muted, panes: { separatorColor: palette.line, separatorHoverColor: palette.line } },
      grid: { vertLines: { color: palette.grid }, horzLines: { color: palette.grid } },
      crosshair: { vertLine: { color: palette.edge, labelBackgroundColor: palette.text }, horzLine: { color: palette.edge, labelBackgroundColor: palette.text } },
      timeScale: { borderColor: palette.line },
      rightPriceScale: { borderColor: palette.line },
    });
    const hollow = this.options?.hollow ?? false;
    this.candles?.applyOptions({
      upColor: hollow ? "transparent" : palette.up, downColor: palette.down, wickUpColor: palette.up, wickDownColor: palette.down,
      borderVisible: hollow, borderUpColor: palette.up, borderDownColor: palette.down,
    });
    this.equity.applyOptions({ color: palette.accent });
    this.cash.applyOptions({ color: palette.muted });
    this.holding.applyOptions({ color: palette.warn });
    const fill = faded(palette.down, 0.25);
    this.drawdown.applyOptions({ bottomLineColor: palette.down, bottomFillColor1: fill, bottomFillColor2: fill, topLineColor: palette.down, topFillColor1: fill, topFillColor2: fill });
    for (const [name, { series, upper }] of this.lines) for (const s of [series, upper]) s?.applyOptions({ color: this.tint(name) });
    this.veil.color(palette);
    this.levels.forEach(({ title, line: l }) => l.applyOptions(this.levelLook(title)));
    this.marks.color(palette);
    for (const part of [...this.moments, ...this.own, ...this.newest, this.trade]) part.color(palette);
  }

  /** What the person has chosen about the look. */
  choose(options: Options) {
    this.options = options;
    this.cash.applyOptions({ visible: options.cash });
    this.holding.applyOptions({ visible: options.holding });
    for (const host of [this.candles, this.equity]) host?.priceScale().applyOptions({ mode: (options.log ? 1 : 0) as number });
    this.color(this.palette);
  }

  private tint(name: string): string {
    return this.palette[this.specs.get(name)?.look.token ?? "accent"];
  }

  /** The trades that are drawn. */
  hold(held: readonly Held[]) {
    this.trade.set(held);
  }

  /** A picture of all panes as they are. */
  picture(): HTMLCanvasElement {
    return this.chart.takeScreenshot(true, false);
  }

  /** Draws what is new in a scene. The caller sets the visible stretch afterwards. */
  show(scene: Scene, specs: ReadonlyMap<string, LineSpec>, unit: number) {
    const old = this.shown;
    this.shown = scene;
    if (this.candles && scene.candles !== old.candles) {
      put(this.candles, scene.candles, old.candles, (c) => ({ time: at(c[0]), open: c[1], high: c[2], low: c[3], close: c[4] }));
    }
    if (scene.equity !== old.equity) {
      put(this.equity, scene.equity, old.equity, (p) => ({ time: at(p[0]), value: p[1] }));
      put(this.cash, scene.equity, old.equity, (p) => ({ time: at(p[0]), value: p[2] }));
      put(this.drawdown, scene.equity, old.equity, (p) => ({ time: at(p[0]), value: -p[3] }));
    }
    const held = scene.candles.slice(0, scene.reach.priced + 1).map((c) => [c[0], heldValue(unit, c)]);
    if (unit > 0 || this.held.length) put(this.holding, unit > 0 ? held : [], this.held, (p) => ({ time: at(p[0]!), value: p[1]! }));
    this.held = unit > 0 ? held : [];
    this.showLines(scene, old, specs);
    this.veil.set(scene.reach.priced + 1);
    if (scene.marks !== old.marks || scene.candles !== old.candles) {
      this.marks.set(scene.marks.flatMap((m) => {
        const candle = scene.candles[m.slot];
        return candle ? [{ ...m, low: candle[3], high: candle[2] }] : [];
      }));
    }
    this.number();
  }

  /** The newest visible candle that the run has seen. */
  private seen(): Newest | null {
    const { candles, reach } = this.shown, range = this.chart.timeScale().getVisibleLogicalRange();
    const candle = candles[Math.min(reach.priced, Math.ceil((range?.to ?? Infinity) - 0.01))];
    return candle ? { price: candle[4], color: candle[4] < candle[1] ? this.palette.down : this.palette.up } : null;
  }

  /** Numbers the axes anew: the library would keep the numbers while a label moves over them. */
  private number() {
    const { price, money } = this.shown.digits;
    const formats = [...(this.candles ? [numbers(price)] : []), numbers(money), drawdowns];
    this.hosts.forEach((host, i) => {
      const { tickmarksFormatter: ticks, ...format } = formats[i]!;
      host.applyOptions({ priceFormat: { ...format, tickmarksFormatter: (values: number[]) => ticks(values).map((text, k) => (this.covered(i, values[k]!) ? "" : text)) } });
    });
    for (const other of [this.cash, this.holding]) other.applyOptions({ priceFormat: this.equity.options().priceFormat });
  }

  /** Whether a number on the axis of a host would be under a label. */
  private covered(host: number, value: number): boolean {
    const series = this.hosts[host]!, y = series.priceToCoordinate(value);
    if (y === null) return false;
    const prices = series === this.candles ? this.levels.map((l) => series.priceToCoordinate(l.line.options().price)) : [];
    return [this.newest[host]!.coordinate, ...prices].some((label) => label !== null && Math.abs(label - y) < this.em * near);
  }

  private showLines(scene: Scene, old: Scene, specs: ReadonlyMap<string, LineSpec>) {
    if (!this.candles) return;
    const wanted = new Map([...specs].filter(([name]) => scene.lines.has(name)));
    const anew = JSON.stringify([...wanted]) !== JSON.stringify([...this.specs]);
    if (anew) this.layLines(wanted);
    for (const [name, spec] of wanted) {
      const points = scene.lines.get(name)!, edge = scene.lines.get(spec.upper) ?? [], drawn = this.lines.get(name)!;
      if (!anew && points === old.lines.get(name) && edge === (old.lines.get(spec.upper) ?? edge)) continue;
      const far = spec.kind === "line" ? farApart(points, scene.axis) : new Set<number>();
      drawn.series.setData(points.map((p, i) => ({ time: at(p[0]), value: p[1], ...(far.has(i + 1) ? { color: "transparent" } : {}) })));
      drawn.upper?.setData(edge.map((p) => ({ time: at(p[0]), value: p[1] })));
      drawn.band?.set(points, edge, this.tint(name));
      if (spec.pane) drawn.series.applyOptions({ priceFormat: numbers(valueDigits(points.map((p) => p[1]))) });
    }
  }

  /** Takes all published series away and adds those that are wanted, each in its pane. */
  private layLines(wanted: ReadonlyMap<string, LineSpec>) {
    for (const { series, upper } of this.lines.values()) for (const s of [series, upper]) if (s) this.chart.removeSeries(s);
    this.lines.clear();
    this.own = [];
    this.specs = wanted;
    const panes: string[] = [];
    for (const [name, spec] of wanted) {
      const known = spec.pane ? panes.indexOf(spec.pane) : -1;
      const pane = !spec.pane ? 0 : known >= 0 ? 1 + known : this.chart.panes().length;
      const drawn = this.addLine(name, spec, pane);
      this.lines.set(name, drawn);
      if (!spec.pane || known >= 0) continue;
      panes.push(spec.pane);
      const moment = new SelectedMoment(this.palette, false);
      drawn.series.attachPrimitive(moment as ISeriesPrimitive<Time>);
      this.own.push(moment);
      const place = drawn.series.getPane();
      for (let i = place.paneIndex(); i > panes.length; i--) this.chart.swapPanes(i, i - 1); // moveTo fails before the first frame
      place.setStretchFactor(2);
      place.priceScale("right").applyOptions({ scaleMargins: { top: 0.26, bottom: 0.12 }, tickMarkDensity: 1.4 });
    }
  }

  private addLine(name: string, spec: LineSpec, pane: number): Drawn {
    const { look, kind, levels } = spec, color = this.tint(name), scale = spec.shared ? {} : { priceScaleId: "own " + name };
    const common = { ...line, color, lineStyle: look.style as number, lineWidth: look.width, ...scale };
    const add = (options: object = {}) => this.chart.addSeries(this.library.LineSeries, { ...common, ...options }, pane);
    const reach = spec.pane ? { autoscaleInfoProvider: (base: () => AutoscaleInfo | null) => spread(base(), levels.map((l) => l.value)) } : {};
    const series: LineSeries = kind === "histogram"
      ? this.chart.addSeries(this.library.HistogramSeries, { ...common, base: 0, ...reach }, pane)
      : add({ ...reach, ...(kind === "marker" ? { lineVisible: false, pointMarkersVisible: true, pointMarkersRadius: 3 } : {}) });
    if (!spec.shared) series.priceScale().applyOptions({ scaleMargins: { top: 0.1, bottom: 0.1 } });
    for (const l of levels) series.createPriceLine({ price: l.value, title: l.title, color: this.palette.edge, lineWidth: 1, lineStyle: 2 as number, axisLabelVisible: false });
    if (kind !== "band") return { series, upper: null, band: null };
    const band = new Band(color);
    series.attachPrimitive(band as ISeriesPrimitive<Time>);
    return { series, upper: add(), band };
  }

  /** Marks prices with lines and labels on the axis. */
  showLevels(levels: Level[]) {
    for (const { line: l } of this.levels) this.candles?.removePriceLine(l);
    this.levels = this.candles
      ? levels.map(({ title, price }) => ({ title, line: this.candles!.createPriceLine({ price, title, lineWidth: 1, lineStyle: 2 as number, axisLabelVisible: true, ...this.levelLook(title) }) }))
      : [];
  }

  private levelLook(title: string) {
    const color = title.startsWith("stop") ? this.palette.down : this.palette.up;
    return { color, axisLabelColor: color, axisLabelTextColor: this.palette.panel };
  }

  /** Prices of marked levels count for the scale unless they are so far away that the candles would be flattened. */
  private reach(info: AutoscaleInfo | null): AutoscaleInfo | null {
    if (!info?.priceRange) return info;
    const { minValue: low, maxValue: high } = info.priceRange;
    const near = this.levels.map((l) => l.line.options().price).filter((p) => p > low - (high - low) && p < high + (high - low));
    return { ...info, priceRange: { minValue: Math.min(low, ...near), maxValue: Math.max(high, ...near) } };
  }

  /** The line through all panes at a place of the axis. */
  select(place: number | null, time: number) {
    [...this.moments, ...this.own].forEach((m) => m.set(place, time));
  }

  /** The visible stretch, from edge to edge. */
  get places(): Span | null {
    const range = this.chart.timeScale().getVisibleLogicalRange();
    return range && { from: range.from - half, to: range.to + half };
  }

  set places(places: Span | null) {
    if (places && places.to - places.from > 1) this.chart.timeScale().setVisibleLogicalRange({ from: places.from + half, to: places.to - half });
  }

  /** Whether the ends of the data are the ends of the run: there is nothing to see beyond them. */
  fix(left: boolean, right: boolean, scene: Scene) {
    const all = everything(scene.axis), few = all.from < -0.5;
    this.chart.timeScale().applyOptions({ fixLeftEdge: left && !few, fixRightEdge: right && !few });
  }

  /** Price axes dragged by hand follow the data again. */
  autoscale() {
    this.chart.panes().forEach((pane) => pane.priceScale("right").setAutoScale(true));
  }

  get width(): number {
    return this.chart.timeScale().width();
  }

  /** Where each pane begins, pixels from the top. */
  get tops(): number[] {
    let top = 0;
    return this.chart.panes().map((pane) => {
      const here = top;
      top += pane.getHeight() + 1;
      return here;
    });
  }
}

/** The range of a pane with its levels. */
function spread(info: AutoscaleInfo | null, levels: number[]): AutoscaleInfo | null {
  if (!info?.priceRange || !levels.length) return info;
  const { minValue, maxValue } = info.priceRange;
  return { ...info, priceRange: { minValue: Math.min(minValue, ...levels), maxValue: Math.max(maxValue, ...levels) } };
}

function slotAt(p: MouseEventParams<Time>, slots: number): number | null {
  if (p.logical === undefined || p.point === undefined || !slots) return null;
  return Math.min(Math.max(Math.round(p.logical), 0), slots - 1);
}

/** Gives a series its points: only those that are new or changed, while they are few. */
function put<K extends "Candlestick" | "Line" | "Baseline", P extends number[]>(
  series: ISeriesApi<K>, points: readonly P[], old: readonly P[], item: (p: P) => SeriesDataItemTypeMap<Time>[K],
) {
  const changed = points.flatMap((p, i) => (old[i]?.every((v, k) => v === p[k]) ? [] : [i]));
  const few = old.length > 0 && points.length >= old.length && changed.length <= fewChanges;
  if (!few || changed.some((i) => i < old.length && points[i]![0] !== old[i]![0])) return series.setData(points.map(item));
  for (const i of changed) series.update(item(points[i]!), i < old.length - 1);
}

const numbers = (digits: number) => ({
  type: "custom" as const, minMove: 10 ** -digits, formatter: (v: number) => axisNumber(v, digits), tickmarksFormatter: (v: number[]) => axisTicks(v, digits),
});

const drawdowns = { type: "custom" as const, minMove: 0.0001, formatter: axisDrawdown, tickmarksFormatter: (v: number[]) => v.map((x) => (x > 0 ? "" : axisDrawdown(x))) };

const drawdownLook: SeriesPartialOptionsMap["Baseline"] = {
  ...line,
  baseValue: { type: "price", price: 0 },
  priceFormat: drawdowns,
  // By what is visible; a curve without drawdown is not blown up to fill the pane.
  autoscaleInfoProvider: (base: () => AutoscaleInfo | null) => {
    const { minValue: low, maxValue: high } = base()?.priceRange ?? { minValue: 0, maxValue: 0 };
    return { priceRange: { minValue: Math.min(low, high - 0.001), maxValue: Math.min(high, 0) } };
  },
};

function layout(fontFamily: string, fontSize: number) {
  return {
    autoSize: true,
    layout: { attributionLogo: false, fontFamily, fontSize, panes: { enableResize: true } },
    localization: { locale: "en-GB", timeFormatter: (t: Time) => axisTime(t as number) },
    timeScale: {
      timeVisible: true, secondsVisible: false, minBarSpacing: 0.001, lockVisibleTimeRangeOnResize: true,
      shiftVisibleRangeOnNewBar: false, tickMarkFormatter: (t: Time, kind: number) => tickText(t as number, kind),
    },
    rightPriceScale: { minimumWidth: 64, entireTextOnly: true },
    // The page scrolls when a finger moves up or down on the chart.
    handleScroll: { vertTouchDrag: false },
    handleScale: { mouseWheel: false, axisDoubleClickReset: { time: false, price: true } },
    kineticScroll: { touch: !matchMedia("(prefers-reduced-motion: reduce)").matches, mouse: false },
  };
}
