// Candles that the run has not come to yet are behind a veil.
import type { CanvasRenderingTarget2D } from "fancy-canvas";
import { Painter } from "./painter.ts";
import { faded } from "./palette.ts";
import type { Palette } from "./palette.ts";

export class Veil extends Painter {
  private from = Infinity;

  constructor(palette: Palette) {
    super("top", palette);
  }

  /** The first slot behind it. */
  set(from: number) {
    if (from === this.from) return;
    this.from = from;
    this.redraw();
  }

  protected draw(target: CanvasRenderingTarget2D) {
    const scale = this.host?.chart.timeScale(), range = scale?.getVisibleLogicalRange();
    if (!scale || !range || this.from > range.to + 1) return;
    const middle = this.across(Math.max(this.from, Math.floor(range.from)));
    const begin = Math.max(0, (middle ?? 0) - scale.options().barSpacing / 2);
    target.useMediaCoordinateSpace(({ context, mediaSize }) => {
      context.fillStyle = faded(this.palette.panel, 0.7);
      context.fillRect(begin, 0, mediaSize.width - begin, mediaSize.height);
    });
  }
}
