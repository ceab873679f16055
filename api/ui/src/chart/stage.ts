// Brings together what is loaded, what is drawn and what the person looks at. One stage
// lives as long as its element is on the page.
import { batch, computed, effect, signal, untracked } from "@preact/signals";
import type { Trade } from "../api/types.ts";
import * as format from "../state/format.ts";
import { fragment, keep, place } from "../state/route.ts";
import { dark } from "../state/theme.ts";
import { after, slotOf, timeframeMs } from "./align.ts";
import type { CandleTuple } from "../api/types.ts";
import { Feed } from "./feed.ts";
import { Gesture } from "./gesture.ts";
import type { Held } from "./holding.ts";
import { fetchLibrary, library } from "./library.ts";
import type { Library } from "./library.ts";
import { drawingsOf } from "./looks.ts";
import { options } from "./options.ts";
import type { Wish } from "./feed.ts";
import { Debounce, NextFrame, Throttle } from "./pace.ts";
import { paletteOf } from "./palette.ts";
import { Plot } from "./plot.ts";
import type { LineSpec } from "./plot.ts";
import * as range from "./range.ts";
import type { Span } from "./range.ts";
import { amongPrices } from "./scale.ts";
import { emptyScene, nothing, sceneOf } from "./scene.ts";
import type { Scene } from "./scene.ts";
import type { Subject } from "./subject.ts";

/** So many published series are shown without being asked for. */
export const shownAtFirst = 6;
const settle = 150, marksEvery = 1000, headEvery = 1000, linesEvery = 3000, retryEvery = 1000, retries = 4, holesEvery = 1000, wholeEvery = 5000;
/** Candles that come by themselves are thinned by the service when they are so many. */
const mostCandles = 3500;
/** One press of a key, or one notch of the wheel (so many pixels), makes the view this much shorter or longer. */
export const zoomStep = 0.7;
const notch = 100;
/** What changes within this time is answered by one load. */
const together = 30;

export class Stage {
  readonly scene = signal<Scene>(emptyScene);
  /** The slot under the crosshair. */
  readonly pointed = signal<number | null>(null);
  /** The visible stretch of time; null is everything. */
  readonly view = signal<Span | null>(null);
  /** Where the panes begin, pixels. */
  readonly tops = signal<number[]>([]);
  /** The service has no candles of this run. */
  readonly missing = signal(false);
  /** Whether the first answers are still awaited. */
  readonly waiting = signal(true);
  /** Names switched by hand, and to what. */
  readonly switched = signal<ReadonlyMap<string, boolean>>(new Map());
  readonly withCandles = computed(() => !this.subject.polling.value && !this.missing.value);
  /** How each published series is drawn, in the order in which they came. */
  readonly drawings = computed(() => drawingsOf(this.subject.names.value, this.subject.plots.value, this.subject.config.value?.strategy_params ?? {}));
  readonly lines = computed(() => [...this.drawings.value.keys()].filter((name, i) => this.switched.value.get(name) ?? i < shownAtFirst));
  /** The panes of the strategy that are shown, from the top. */
  readonly panes = computed(() => [...new Set(this.lines.value.map((name) => this.drawings.value.get(name)!.pane).filter(Boolean))]);

  /** The newest price that the run has seen. */
  readonly price = signal<number | null>(null);

  private element: HTMLElement | null = null;
  private plot: Plot | null = null;
  private readonly feed = new Feed(() => this.frame.call());
  private readonly frame = new NextFrame(() => this.draw());
  private readonly look = new Debounce(settle, () => this.refine());
  private readonly again = new Debounce(retryEvery, () => void this.load());
  private readonly marks = new Throttle(marksEvery, () => void this.feed.refreshMarks(this.wish()));
  private readonly head = new Throttle(headEvery, () => void this.feed.refreshHead(this.wish()));
  private readonly growth = new Throttle(linesEvery, () => void this.feed.refreshLines(this.wish()));
  private readonly holes = new Throttle(holesEvery, () => void this.catchUp());
  private readonly whole = new Throttle(wholeEvery, () => this.again.call(together));
  private readonly equity = new Throttle(500, () => this.feed.grow(this.subject.equity.peek()));
  private tries = 0;
  /** Counts what has made everything be asked for again. */
  private asked = 0;
  private parts = nothing;
  /** The library has not drawn yet what it was given: until then it reports ranges that were not asked for. */
  private drawing = false;
  private readonly calm = new NextFrame(() => {
    this.drawing = false;
    this.measure(); // the library lays its panes out when it draws
    if (this.plot?.places) this.moved(this.plot.places);
  });
  private wheeled: { by: number; share: number } = { by: 0, share: 0.5 };
  private readonly wheel = new NextFrame(() => this.spin());
  private gesture: Gesture | null = null;
  /** What was last set to be visible: the library reports it back a frame later. */
  private placed: Span | null = null;

  /** The stretch that the address asks for, until the run is there; whether one was; the run that it is of; what the address was last told. */
  private wanted: Span | null = range.spoken(fragment.peek());
  private seen = false;
  private run = -1;
  private said = "";
  private readonly kept = new Debounce(settle, () => this.say());
  private readonly timeframe = computed(() => timeframeMs(this.subject.config.value?.timeframe ?? ""));

  constructor(readonly subject: Subject) {}

  /** Starts drawing into an element; what is returned ends it. */
  mount(element: HTMLElement, probe: HTMLElement): () => void {
    fetchLibrary();
    const forced = matchMedia("(forced-colors: active)");
    this.gesture = new Gesture(element, () => this.look.call());
    this.element = element;
    const recolor = () => this.plot?.color(paletteOf(probe));
    const wheel = (e: WheelEvent) => this.onWheel(e, element), measure = () => this.calm.call();
    forced.addEventListener("change", recolor);
    element.addEventListener("wheel", wheel, { passive: false });
    element.addEventListener("pointerup", measure);
    const ends = [
      effect(() => {
        if (library.value) this.build(library.value, element, probe, this.withCandles.value);
      }),
      effect(() => {
        void dark.value;
        const chosen = options.value;
        recolor();
        this.plot?.choose(chosen);
      }),
      ...this.follow(),
    ];
    return () => {
      forced.removeEventListener("change", recolor);
      element.removeEventListener("wheel", wheel);
      element.removeEventListener("pointerup", measure);
      this.gesture?.end();
      for (const end of ends) end();
      for (const timer of [this.frame, this.calm, this.wheel, this.look, this.again, this.marks, this.head, this.growth, this.holes, this.whole, this.equity]) timer.cancel();
      this.feed.clear();
      this.plot?.remove();
      this.plot = this.element = this.gesture = null;
    };
  }

  private build(loaded: Library, element: HTMLElement, probe: HTMLElement, withCandles: boolean) {
    untracked(() => {
      this.plot?.remove();
      this.plot = new Plot(loaded, element, paletteOf(probe), withCandles, {
        moved: (places) => this.moved(places),
        pointed: (slot) => (this.pointed.value = slot),
        clicked: (slot) => this.clicked(slot),
        resized: () => {
          this.place(this.scene.peek());
          this.measure();
        },
      });
      this.plot.showLevels(this.subject.levels.peek());
      this.plot.choose(options.peek());
      this.parts = nothing;
      this.scene.value = emptyScene;
      this.frame.call();
    });
  }

  /** Everything that reacts to the state of the page. */
  private follow(): (() => void)[] {
    const of = this.subject;
    let run = of.generation.peek(), shown = of.symbol.peek();
    return [
      effect(() => {
        const fresh = run !== of.generation.value;
        // Candles of one symbol must not stand under the name of another.
        if (fresh || shown !== of.symbol.value) this.feed.clear();
        [run, shown] = [of.generation.value, of.symbol.value];
        void [of.source.value, this.timeframe.value, of.ended.value, of.until.value, of.polling.value];
        untracked(() => this.restart(fresh));
      }),
      effect(() => {
        void of.equity.value;
        this.equity.call();
        if (!of.running.peek()) return;
        this.growth.call();
        this.head.call();
      }),
      effect(() => {
        if (of.revision.value && of.running.peek()) this.marks.call();
      }),
      effect(() => {
        void [this.lines.value, this.drawings.value];
        untracked(() => {
          void this.feed.addLines(this.wish());
          this.frame.call();
        });
      }),
      effect(() => {
        const live = of.liveCandle.value;
        if (live && live.symbol === of.symbol.value) untracked(() => this.push(live.candle));
      }),
      effect(() => {
        const now = of.levels.value;
        this.plot?.showLevels(now);
      }),
      effect(() => {
        const chosen = of.selection.value;
        untracked(() => this.select(chosen));
      }),
      effect(() => {
        void this.pointed.value;
        if (this.scene.peek().trades.length > 0) untracked(() => this.plot?.hold(this.held()));
      }),
      ...this.address(),
    ];
  }

  private wish(): Wish {
    const of = this.subject;
    return {
      source: of.source.peek(), symbol: of.symbol.peek(), timeframe: this.timeframe.peek(),
      lines: this.lines.peek().flatMap((name) => [name, this.drawings.peek().get(name)!.upper].filter(Boolean)),
      width: this.plot?.width || this.element?.clientWidth || 800, candles: !of.polling.peek(), equity: of.equity.peek(),
      ahead: of.ahead.peek(), until: of.until.peek(),
    };
  }

  /** The run, its symbol or the connection is another one, or the run ended: ask for everything again. */
  private restart(fresh: boolean) {
    this.tries = 0;
    this.asked++;
    if (fresh) {
      if (this.seen) this.wanted = null;
      batch(() => {
        this.view.value = this.pointed.value = null;
        this.switched.value = new Map();
        this.missing.value = false;
        this.waiting.value = true;
      });
    }
    this.frame.call();
    this.again.call(together);
  }

  private async load() {
    const of = this.subject;
    if (!of.id.peek()) return;
    // There is no answer: what is drawn stays. The next source makes everything be asked for again.
    if (this.feed.overview && of.away.peek()) return;
    const asked = this.asked;
    const found = await this.feed.load(this.wish(), null, null);
    // A newer question is on its way: this answer must not put it off.
    if (asked !== this.asked) return;
    this.waiting.value = false;
    if (found) {
      this.missing.value = false;
      this.restore();
      this.look.call(0);
    } else if (of.running.peek() || ++this.tries < retries) {
      this.waiting.value = true;
      this.again.call();
    } else if (of.ended.peek()) {
      this.missing.value = true;
    }
  }

  private push(candle: CandleTuple) {
    const before = this.full.to;
    if (!this.feed.push(candle, this.timeframe.peek())) this.holes.call();
    if ((this.feed.overview?.parts.candles.length ?? 0) > mostCandles) this.again.call(together);
    this.keepUp(before);
  }

  /** More candles than the service sends by themselves are asked for, so that none is left out. */
  private async catchUp() {
    const before = this.full.to;
    if (!this.subject.running.peek()) return; // the end makes everything be asked for again
    const outcome = await this.feed.catchUp(this.wish());
    if (outcome === "later") this.holes.call();
    if (outcome === "anew") this.whole.call();
    this.keepUp(before);
  }

  /** A view up to the end of the run stays at the end. */
  private keepUp(before: number) {
    const grown = this.full.to - before, view = this.view.peek();
    if (view && grown > 0 && view.to >= before) this.view.value = { from: view.from + grown, to: view.to + grown };
  }

  private draw() {
    const plot = this.plot;
    if (!plot) return;
    const shown = this.feed.shown, before = this.scene.peek();
    const parts = !shown ? nothing : this.withCandles.peek() ? shown.parts : { ...shown.parts, candles: nothing.candles };
    const scene = sceneOf(parts, { parts: this.parts, scene: before });
    this.parts = parts;
    this.drawing = true;
    plot.fix(this.edge("from"), this.edge("to"), scene);
    plot.show(scene, this.specs(scene), this.unit);
    if (scene.axis !== before.axis || !this.gesture?.active) this.place(scene);
    this.calm.call();
    this.scene.value = scene;
    this.price.value = this.feed.lastPrice();
    this.mark();
    this.measure();
  }

  private edge(end: "from" | "to"): boolean {
    const { overview, shown } = this.feed;
    return !shown || !overview || (end === "from" ? shown.span.from <= overview.span.from : shown.span.to >= overview.span.to);
  }

  /** How the lines are drawn; judged by the whole run, so that a line keeps its scale while zooming. */
  private specs(scene: Scene): Map<string, LineSpec> {
    const whole = this.feed.overview?.parts, shown = this.lines.peek();
    const specs = new Map<string, LineSpec>();
    for (const name of shown) {
      const drawing = this.drawings.peek().get(name)!, points = whole?.lines.get(name) ?? scene.lines.get(name) ?? [];
      specs.set(name, { ...drawing, shared: drawing.declared || amongPrices(points, whole?.candles ?? scene.candles) });
    }
    return specs;
  }

  /** How many units the starting cash buys at the first close; 0 where the candles are not those of the run's first symbol. */
  private get unit(): number {
    const run = this.subject.config.peek(), first = this.feed.overview?.parts.candles[0]?.[4];
    return run && first && this.subject.symbol.peek() === run.symbols[0] ? run.initial_cash / first : 0;
  }

  private place(scene: Scene) {
    const view = this.view.peek();
    if (!this.plot || !scene.axis.times.length) return;
    this.placed = view ? range.placesOf(scene.axis, view) : range.everything(scene.axis);
    this.plot.places = this.placed;
  }

  private measure() {
    const tops = this.plot?.tops ?? [];
    if (tops.join() !== this.tops.peek().join()) this.tops.value = tops;
  }

  private get full(): Span {
    return this.feed.overview?.span ?? { from: 0, to: 0 };
  }

  private moved(places: Span) {
    const axis = this.scene.peek().axis;
    if (this.drawing || !this.gesture?.active || !axis.times.length || (this.placed && range.near(places, this.placed))) return;
    const view = range.timesOf(axis, places);
    this.placed = null;
    this.view.value = range.showsAll(view, this.full) ? null : view;
    if (!this.gesture.held) this.widen();
    this.look.call();
  }

  /** Shows the whole run, from memory, when the loaded stretch ends within the view. */
  private widen() {
    const { detail } = this.feed, view = this.view.peek();
    if (detail && (!view || !range.covers(detail.span, view, this.full))) this.feed.showOverview();
  }

  /** Loads what the view needs and does not have yet. */
  private refine() {
    const view = this.view.peek(), shown = this.feed.shown, full = this.full;
    if (!shown || this.gesture?.held) return;
    const span = view && range.plan(view, full, this.timeframe.peek() || this.candle);
    if (!span) {
      this.feed.showOverview();
      void this.feed.addLines(this.wish());
    } else if (!range.enough(shown, view, full)) {
      void this.feed.load(this.wish(), span, view);
    }
  }

  /** The length of a candle, ms. */
  private get candle(): number {
    return this.timeframe.peek() || this.feed.overview?.parts.step || 60_000;
  }

  /** Shows a stretch; null is everything. */
  show(view: Span | null) {
    this.view.value = view && range.showsAll(view, this.full) ? null : view;
    if (!view) this.plot?.autoscale();
    const { detail } = this.feed;
    this.widen();
    // Another axis is drawn in the next frame, with this view.
    if (detail === this.feed.detail) this.place(this.scene.peek());
    this.look.call(view ? 0 : undefined);
  }

  pan(share: number) {
    this.show(range.pan(this.view.peek() ?? this.full, share, this.full));
  }

  zoom(factor: number, share = 0.5) {
    this.show(range.zoom(this.view.peek() ?? this.full, factor, this.full, this.candle, share));
  }

  /** The wheel zooms as the keys do, around the pointer. */
  private onWheel(e: WheelEvent, element: HTMLElement) {
    if (Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey) return;
    e.preventDefault();
    const box = element.getBoundingClientRect(), pixels = e.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? e.deltaY : e.deltaY * notch / 3;
    const share = (e.clientX - box.left) / (this.plot?.width || box.width);
    this.wheeled = { by: this.wheeled.by + pixels / notch, share: Math.min(1, Math.max(0, share)) };
    this.wheel.call();
  }

  private spin() {
    const { by, share } = this.wheeled;
    this.wheeled.by = 0;
    if (by) this.zoom(zoomStep ** -by, share);
  }

  /** Shows the last stretch of a length. */
  last(stretch: (typeof range.stretches)[number]) {
    this.show(range.lastOf(stretch, this.full));
  }

  /** Goes to a moment, ms. */
  jump(time: number) {
    const full = this.full, at = Math.min(Math.max(time, full.from), full.to);
    this.show(range.reveal(this.view.peek() ?? full, at, full, this.candle));
  }

  /** Saves what is drawn as a PNG, with a line that says what it is. */
  save() {
    const drawn = this.plot?.picture(), context = document.createElement("canvas").getContext("2d");
    if (!drawn || !context || !this.element) return;
    const style = getComputedStyle(this.element), scale = devicePixelRatio, head = 24 * scale, { canvas } = context;
    [canvas.width, canvas.height] = [drawn.width, drawn.height + head];
    context.fillStyle = getComputedStyle(this.element.closest(".panel") ?? this.element).backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(drawn, 0, head);
    context.fillStyle = style.color;
    context.font = `${12 * scale}px ${style.fontFamily}`;
    const run = this.subject.config.peek(), id = this.subject.id.peek();
    context.fillText([run?.strategy_name, this.subject.symbol.peek(), run?.timeframe, id].filter(Boolean).join(" · "), 8 * scale, 16 * scale);
    canvas.toBlob((blob) => {
      if (!blob) return;
      const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: `${id || "chart"}.png` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  switch(name: string) {
    this.switched.value = new Map(this.switched.value).set(name, !this.lines.value.includes(name));
  }

  private clicked(slot: number) {
    const time = this.scene.peek().axis.times[slot];
    if (time !== undefined) this.subject.selection.value = { time, id: "", from: "chart", symbol: this.subject.symbol.peek() };
  }

  private select(chosen: { time: number; from: string } | null) {
    if (chosen?.from === "table" && this.feed.overview) this.show(range.reveal(this.view.peek() ?? this.full, chosen.time, this.full, this.candle));
    this.mark();
  }

  private mark() {
    const chosen = this.subject.selection.peek(), axis = this.scene.peek().axis;
    const inside = chosen && axis.times.length > 0 && chosen.time >= axis.times[0]! && chosen.time <= axis.end;
    this.plot?.select(inside ? after(axis.times, chosen.time) - 1 : null, chosen?.time ?? 0);
    this.plot?.hold(this.held());
  }

  /** The trades on the axis, of which any is loaded; words has the selected one, and that under the pointer. */
  held(): Held[] {
    const chosen = this.subject.selection.peek()?.trade, pointed = this.pointed.peek();
    const all = this.scene.peek().trades.flatMap((trade) => this.heldOf(trade, false) ?? []);
    const under = pointed === null ? undefined : all.findLast((h) => h.from <= pointed && pointed <= h.to);
    const shown = chosen && this.heldOf(chosen, true);
    return [...all.map((h) => (h === under && !shown ? h : { ...h, text: "" })), ...(shown ? [shown] : [])];
  }

  private heldOf(trade: Trade, strong: boolean): Held | null {
    const axis = this.scene.peek().axis;
    if (trade.symbol !== this.subject.symbol.peek() || !axis.times.length) return null;
    const from = Date.parse(trade.entry_time), to = Date.parse(trade.exit_time);
    if (to < axis.times[0]! || from > axis.end) return null;
    const text = `${trade.direction} ${format.exact(trade.entry_price)} → ${format.exact(trade.exit_price)}  ${format.signedPercent(trade.return)}  ${format.duration(trade.duration_seconds)}`;
    return { from: slotOf(axis, from), to: slotOf(axis, to), entry: trade.entry_price, exit: trade.exit_price, won: trade.pnl >= 0, text, strong };
  }

  /** Keeps the visible stretch in the address, and follows the address. */
  private address(): (() => void)[] {
    const page = place.peek().page, run = this.subject.generation;
    return [
      effect(() => {
        void this.view.value;
        this.kept.call();
      }),
      effect(() => {
        const asked = range.spoken(fragment.value), now = this.view.peek();
        if (this.wanted || place.peek().page !== page || range.written(asked) === range.written(now)) return;
        if (range.written(asked) !== this.said) untracked(() => this.feed.overview && this.show(asked));
      }),
      // The stretch is of this run: the next one begins whole.
      () => {
        this.kept.cancel();
        if (place.peek().page === page && this.seen && run.peek() !== this.run) keep({ from: "", to: "" });
      },
    ];
  }

  private say() {
    if (this.wanted) return;
    const view = this.view.peek();
    this.said = range.written(view);
    keep(range.words(view));
  }

  /** Shows the stretch that the address asked for before anything was loaded. */
  private restore() {
    const { wanted } = this, full = this.full;
    [this.wanted, this.seen, this.run] = [null, true, this.subject.generation.peek()];
    if (wanted && wanted.to > full.from && wanted.from < full.to) this.show(range.pan(wanted, 0, full));
    else this.kept.call();
  }
}
