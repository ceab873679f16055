// The selected moment: a vertical line through a pane, with the time on the axis.
import type { CanvasRenderingTarget2D } from "fancy-canvas";
import type { ISeriesPrimitiveAxisView } from "lightweight-charts";
import type { Palette } from "./palette.ts";
import { Painter } from "./painter.ts";
import { axisTime } from "./scale.ts";

export class SelectedMoment extends Painter {
  private readonly labels: ISeriesPrimitiveAxisView[];
  private place: number | null = null;
  private time = 0;

  /** Only one of the panes labels the axis. */
  constructor(palette: Palette, labelled: boolean) {
    super("top", palette);
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

  timeAxisViews() {
    return this.labels;
  }

  /** place is where on the axis the time is; null takes the line away. */
  set(place: number | null, time: number) {
    if (place === this.place && time === this.time) return;
    [this.place, this.time] = [place, time];
    this.redraw();
  }

  private x(): number | null {
    return this.place === null ? null : this.across(Math.round(this.place));
  }

  protected draw(target: CanvasRenderingTarget2D) {
    const at = this.x();
    if (at === null) return;
    target.useBitmapCoordinateSpace(({ context, bitmapSize, horizontalPixelRatio }) => {
      context.fillStyle = this.palette.accent;
      context.fillRect(Math.round(at * horizontalPixelRatio), 0, Math.max(1, Math.round(horizontalPixelRatio)), bitmapSize.height);
    });
  }
}
