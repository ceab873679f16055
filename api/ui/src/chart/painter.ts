// What is drawn on a pane beside its series.
import type { CanvasRenderingTarget2D } from "fancy-canvas";
import type { IPrimitivePaneView, ISeriesPrimitive, PrimitivePaneViewZOrder, SeriesAttachedParameter, Time } from "lightweight-charts";
import type { Palette } from "./palette.ts";

export abstract class Painter<Colors = Palette> implements ISeriesPrimitive<Time> {
  protected host: SeriesAttachedParameter<Time> | null = null;
  private readonly views: IPrimitivePaneView[];

  constructor(order: PrimitivePaneViewZOrder, protected palette: Colors) {
    this.views = [{ zOrder: () => order, renderer: () => ({ draw: (target) => this.draw(target) }) }];
  }

  attached(host: SeriesAttachedParameter<Time>) {
    this.host = host;
  }

  detached() {
    this.host = null;
  }

  paneViews() {
    return this.views;
  }

  color(palette: Colors) {
    this.palette = palette;
    this.redraw();
  }

  protected redraw() {
    this.host?.requestUpdate();
  }

  /** Where on the pane a slot of the axis is. */
  protected across(slot: number): number | null {
    const scale = this.host?.chart.timeScale();
    return scale ? scale.logicalToCoordinate(slot as Parameters<typeof scale.logicalToCoordinate>[0]) : null;
  }

  protected abstract draw(target: CanvasRenderingTarget2D): void;
}
