// The area between the two edges of a band.
import type { CanvasRenderingTarget2D } from "fancy-canvas";
import type { IPrimitivePaneView, ISeriesPrimitive, SeriesAttachedParameter, Time } from "lightweight-charts";
import type { LineTuple } from "../api/types.ts";
import { faded } from "./palette.ts";

export class Band implements ISeriesPrimitive<Time> {
  private readonly views: IPrimitivePaneView[] = [{ zOrder: () => "bottom", renderer: () => ({ draw: (target) => this.draw(target) }) }];
  private host: SeriesAttachedParameter<Time> | null = null;
  private edges: readonly (readonly LineTuple[])[] = [];

  constructor(private color: string) {}

  attached(host: SeriesAttachedParameter<Time>) {
    this.host = host;
  }

  detached() {
    this.host = null;
  }

  paneViews() {
    return this.views;
  }

  set(lower: readonly LineTuple[], upper: readonly LineTuple[], color: string) {
    [this.edges, this.color] = [[lower, upper], color];
    this.host?.requestUpdate();
  }

  private draw(target: CanvasRenderingTarget2D) {
    if (!this.host) return;
    const scale = this.host.chart.timeScale(), { series } = this.host;
    const [lower, upper] = this.edges.map((edge) => edge.flatMap(([ms, value]) => {
      const x = scale.timeToCoordinate((ms / 1000) as unknown as Time), y = series.priceToCoordinate(value);
      return x === null || y === null ? [] : [[x, y] as const];
    }));
    if (!lower?.length || !upper?.length) return;
    target.useMediaCoordinateSpace(({ context }) => {
      context.beginPath();
      for (const [x, y] of [...lower, ...upper.toReversed()]) context.lineTo(x, y);
      context.closePath();
      context.fillStyle = faded(this.color, 0.15);
      context.fill();
    });
  }
}
