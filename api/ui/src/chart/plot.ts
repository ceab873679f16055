// The chart library behind one small surface: panes, series, colours, the visible stretch.
import type {
  AutoscaleInfo, IChartApi, IPriceLine, ISeriesApi, ISeriesPrimitive, MouseEventParams, SeriesPartialOptionsMap, Time, UTCTimestamp,
} from "lightweight-charts";
import type { EquityTuple } from "../api/types.ts";
import { SelectedMoment } from "./cursor.ts";
import type { Library } from "./library.ts";
import { FillMarks } from "./marks.ts";
import { NewestValue } from "./newest.ts";
import { faded } from "./palette.ts";
import type { Palette } from "./palette.ts";
import { everything } from "./range.ts";
import type { Span } from "./range.ts";
import { axisDrawdown, axisNumber, axisTicks, axisTime, lookOf, moneyDigits, priceDigits, tickText } from "./scale.ts";
import { emptyScene, farApart } from "./scene.ts";
import type { Scene } from "./scene.ts";

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

/** How a line was asked to be drawn: its place in the order of names, and on which scale. */
export interface LineSpec {
  order: number;
  shared: boolean;
}

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
  private readonly marks: FillMarks;
  private readonly moments: SelectedMoment[];
  private readonly newest: NewestValue[];
  private readonly lines = new Map<string, { series: ISeriesApi<"Line">; spec: LineSpec }>();
  private levels: { title: string; line: IPriceLine }[] = [];
  private shown = emptyScene;

  constructor(private readonly library: Library, element: HTMLElement, private palette: Palette, withCandles: boolean, events: PlotEvents) {
    const { BaselineSeries, CandlestickSeries, LineSeries, createChart } = library;
    const style = getComputedStyle(element), family = style.fontFamily, em = parseFloat(style.fontSize);
    this.chart = createChart(element, layout(family, em));
    const first = withCandles ? 1 : 0;
    this.candles = withCandles ? this.chart.addSeries(CandlestickSeries, { priceLineVisible: false, lastValueVisible: false, autoscaleInfoProvider: (base: () => AutoscaleInfo | null) => this.reach(base()) }, 0) : null;
    this.cash = this.chart.addSeries(LineSeries, line, first);
    this.equity = this.chart.addSeries(LineSeries, { ...line, lineWidth: 2 }, first);
    this.drawdown = this.chart.addSeries(BaselineSeries, drawdownLook, first + 1);
    this.marks = new FillMarks(palette, family, em);
    this.candles?.attachPrimitive(this.marks);
    const hosts = [...(this.candles ? [this.candles] : []), this.equity, this.drawdown];
    this.moments = hosts.map((host, i) => {
      const moment = new SelectedMoment(palette, i === 0);
      host.attachPrimitive(moment as ISeriesPrimitive<Time>);
      return moment;
    });
    this.newest = hosts.map((host) => {
      const newest = new NewestValue(palette);
      host.attachPrimitive(newest as ISeriesPrimitive<Time>);
      return newest;
    });
    this.chart.panes().forEach((pane, i) => {
      const prices = withCandles && i === 0;
      pane.setStretchFactor(prices ? 5 : 2);
      // Room for the legend.
      pane.priceScale("right").applyOptions({ scaleMargins: prices ? { top: 0.12, bottom: 0.06 } : { top: 0.26, bottom: 0.08 } });
    });
    this.color(palette);
    this.chart.timeScale().subscribeVisibleLogicalRangeChange((range) => range && events.moved({ from: range.from - half, to: range.to + half }));
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
    this.candles?.applyOptions({
      upColor: palette.up, downColor: palette.down, wickUpColor: palette.up, wickDownColor: palette.down, borderVisible: false,
    });
    this.equity.applyOptions({ color: palette.accent });
    this.cash.applyOptions({ color: palette.muted });
    const fill = faded(palette.down, 0.25);
    this.drawdown.applyOptions({ bottomLineColor: palette.down, bottomFillColor1: fill, bottomFillColor2: fill, topLineColor: palette.down, topFillColor1: fill, topFillColor2: fill });
    for (const { series, spec } of this.lines.values()) series.applyOptions({ color: palette[lookOf(spec.order).token] });
    this.levels.forEach(({ title, line: l }) => l.applyOptions(this.levelLook(title)));
    this.marks.color(palette);
    for (const part of [...this.moments, ...this.newest]) part.color(palette);
  }

  /** Draws what is new in a scene. The caller sets the visible stretch afterwards. */
  show(scene: Scene, specs: ReadonlyMap<string, LineSpec>) {
    const old = this.shown;
    this.shown = scene;
    if (this.candles && scene.candles !== old.candles) {
      this.candles.applyOptions({ priceFormat: numbers(priceDigits(scene.candles)) });
      this.candles.setData(scene.candles.map((c) => ({ time: at(c[0]), open: c[1], high: c[2], low: c[3], close: c[4] })));
    }
    if (scene.equity !== old.equity) this.showEquity(scene.equity);
    this.showLines(scene, old, specs);
    if (scene.marks !== old.marks || scene.candles !== old.candles) {
      this.marks.set(scene.marks.flatMap((m) => {
        const candle = scene.candles[m.slot];
        return candle ? [{ ...m, low: candle[3], high: candle[2] }] : [];
      }));
    }
  }

  private showEquity(points: EquityTuple[]) {
    const format = numbers(moneyDigits(points.map((p) => p[1])));
    this.equity.applyOptions({ priceFormat: format });
    this.cash.applyOptions({ priceFormat: format });
    this.equity.setData(points.map((p) => ({ time: at(p[0]), value: p[1] })));
    this.cash.setData(points.map((p) => ({ time: at(p[0]), value: p[2] })));
    this.drawdown.setData(points.map((p) => ({ time: at(p[0]), value: -p[3] })));
  }

  private showLines(scene: Scene, old: Scene, specs: ReadonlyMap<string, LineSpec>) {
    for (const [name, { series, spec }] of this.lines) {
      const now = specs.get(name);
      if (now && now.order === spec.order && now.shared === spec.shared && scene.lines.has(name)) continue;
      this.chart.removeSeries(series);
      this.lines.delete(name);
    }
    if (!this.candles) return;
    for (const [name, points] of scene.lines) {
      const spec = specs.get(name);
      if (!spec || (this.lines.has(name) && points === old.lines.get(name))) continue;
      const series = this.lines.get(name)?.series ?? this.addLine(name, spec);
      const far = farApart(points, scene.axis);
      series.setData(points.map((p, i) => ({ time: at(p[0]), value: p[1], ...(far.has(i + 1) ? { color: "transparent" } : {}) })));
    }
  }

  private addLine(name: string, spec: LineSpec): ISeriesApi<"Line"> {
    const look = lookOf(spec.order);
    const series = this.chart.addSeries(this.library.LineSeries, {
      ...line, color: this.palette[look.token], lineStyle: look.style as number,
      ...(spec.shared ? {} : { priceScaleId: "own " + name }),
    }, 0);
    if (!spec.shared) series.priceScale().applyOptions({ scaleMargins: { top: 0.1, bottom: 0.1 } });
    this.lines.set(name, { series, spec });
    return series;
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
    this.moments.forEach((m) => m.set(place, time));
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

function slotAt(p: MouseEventParams<Time>, slots: number): number | null {
  if (p.logical === undefined || p.point === undefined || !slots) return null;
  return Math.min(Math.max(Math.round(p.logical), 0), slots - 1);
}

const numbers = (digits: number) => ({
  type: "custom" as const, minMove: 10 ** -digits, formatter: (v: number) => axisNumber(v, digits), tickmarksFormatter: (v: number[]) => axisTicks(v, digits),
});

const drawdownLook: SeriesPartialOptionsMap["Baseline"] = {
  ...line,
  baseValue: { type: "price", price: 0 },
  priceFormat: { type: "custom", minMove: 0.0001, formatter: axisDrawdown },
  // Zero stays at the top; a curve without drawdown is not blown up to fill the pane.
  autoscaleInfoProvider: (base: () => AutoscaleInfo | null) => {
    const low = base()?.priceRange?.minValue ?? 0;
    return { priceRange: { minValue: Math.min(low, -0.001), maxValue: 0 } };
  },
};

function layout(fontFamily: string, fontSize: number) {
  return {
    autoSize: true,
    layout: { attributionLogo: false, fontFamily, fontSize, panes: { enableResize: false } },
    localization: { locale: "en-GB", timeFormatter: (t: Time) => axisTime(t as number) },
    timeScale: {
      timeVisible: true, secondsVisible: false, minBarSpacing: 0.001, lockVisibleTimeRangeOnResize: true,
      shiftVisibleRangeOnNewBar: false, tickMarkFormatter: (t: Time, kind: number) => tickText(t as number, kind),
    },
    rightPriceScale: { minimumWidth: 64, entireTextOnly: true },
    // The page scrolls when a finger moves up or down on the chart.
    handleScroll: { vertTouchDrag: false },
    handleScale: { axisDoubleClickReset: { time: false, price: true } },
    kineticScroll: { touch: !matchMedia("(prefers-reduced-motion: reduce)").matches, mouse: false },
  };
}
