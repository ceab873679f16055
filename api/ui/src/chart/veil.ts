// Candles that the run has not come to yet are behind a veil.
import type { CanvasRenderingTarget2D } from "fancy-canvas";
import type { IPrimitivePaneView, ISeriesPrimitive, SeriesAttachedParameter, Time } from "lightweight-charts";
import { faded } from "./palette.ts";
import type { Palette } from "./palette.ts";

export class Veil implements ISeriesPrimitive<Time> {
  private readonly views: IPrimitivePaneView[] = [{ zOrder: () => "top", renderer: () => ({ draw: (target) => this.draw(target) }) }];
  private host: SeriesAttachedParameter<Time> | null = null;
  private from = Infinity;

  constructor(private palette: Palette) {}

  attached(host: SeriesAttachedParameter<Time>) {
    this.host = host;
  }

  detached() {
    this.host = null;
  }

  paneViews() {
    return this.views;
  }

  /** The first slot behind it. */
  set(from: number) {
    if (from === this.from) return;
    this.from = from;
    this.host?.requestUpdate();
  }

  color(palette: Palette) {
    this.palette = palette;
    this.host?.requestUpdate();
  }

  private draw(target: CanvasRenderingTarget2D) {
    const scale = this.host?.chart.timeScale(), range = scale?.getVisibleLogicalRange();
    if (!scale || !range || this.from > range.to + 1) return;
    const middle = scale.logicalToCoordinate(Math.max(this.from, Math.floor(range.from)) as Parameters<typeof scale.logicalToCoordinate>[0]);
    const begin = Math.max(0, (middle ?? 0) - scale.options().barSpacing / 2);
    target.useMediaCoordinateSpace(({ context, mediaSize }) => {
      context.fillStyle = faded(this.palette.panel, 0.7);
      context.fillRect(begin, 0, mediaSize.width - begin, mediaSize.height);
    });
  }
}
