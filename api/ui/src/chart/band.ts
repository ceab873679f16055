// The area between the two edges of a band.
import type { CanvasRenderingTarget2D } from "fancy-canvas";
import type { Time } from "lightweight-charts";
import type { LineTuple } from "../api/types.ts";
import { Painter } from "./painter.ts";
import { faded } from "./palette.ts";

export class Band extends Painter<string> {
  private edges: readonly (readonly LineTuple[])[] = [];

  constructor(color: string) {
    super("bottom", color);
  }

  set(lower: readonly LineTuple[], upper: readonly LineTuple[], color: string) {
    this.edges = [lower, upper];
    this.color(color);
  }

  protected draw(target: CanvasRenderingTarget2D) {
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
      context.fillStyle = faded(this.palette, 0.15);
      context.fill();
    });
  }
}
