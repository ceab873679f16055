// The selected moment: a vertical line through a pane, with the time on the axis.
import type { CanvasRenderingTarget2D } from "fancy-canvas";
import type { IPrimitivePaneView, ISeriesPrimitive, ISeriesPrimitiveAxisView, SeriesAttachedParameter, Time } from "lightweight-charts";
import type { Palette } from "./palette.ts";
import { axisTime } from "./scale.ts";

export class SelectedMoment implements ISeriesPrimitive<Time> {
  private readonly views: IPrimitivePaneView[] = [{ zOrder: () => "top", renderer: () => ({ draw: (target) => this.draw(target) }) }];
  private readonly labels: ISeriesPrimitiveAxisView[];
  private host: SeriesAttachedParameter<Time> | null = null;
  private place: number | null = null;
  private time = 0;

  /** Only one of the panes labels the axis. */
  constructor(private palette: Palette, labelled: boolean) {
    this.labels = labelled
      ? [{
        coordinate: () => this.x() ?? 0,
        text: () => axisTime(this.time / 1000),
        textColor: () => this.palette.panel,
        backColor: () => this.palette.accent,
        visible: () => this.x() !== null,
        tickVisible: () => false,
      }]
      : [];
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

  timeAxisViews() {
    return this.labels;
  }

  /** place is where on the axis the time is; null takes the line away. */
  set(place: number | null, time: number) {
    if (place === this.place && time === this.time) return;
    [this.place, this.time] = [place, time];
    this.host?.requestUpdate();
  }

  color(palette: Palette) {
    this.palette = palette;
    this.host?.requestUpdate();
  }

  private x(): number | null {
    if (this.place === null || !this.host) return null;
    const scale = this.host.chart.timeScale();
    return scale.logicalToCoordinate(Math.round(this.place) as Parameters<typeof scale.logicalToCoordinate>[0]);
  }

  private draw(target: CanvasRenderingTarget2D) {
    const at = this.x();
    if (at === null) return;
    target.useBitmapCoordinateSpace(({ context, bitmapSize, horizontalPixelRatio }) => {
      context.fillStyle = this.palette.accent;
      context.fillRect(Math.round(at * horizontalPixelRatio), 0, Math.max(1, Math.round(horizontalPixelRatio)), bitmapSize.height);
    });
  }
}
