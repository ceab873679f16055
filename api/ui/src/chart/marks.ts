// Fill markers: ▲ below a candle for buys, ▼ above it for sells. More than one have a bar,
// and their count where there is room. Hollow is ambiguous; a slot that is so in part is filled in part.
import type { CanvasRenderingTarget2D } from "fancy-canvas";
import { count } from "../state/format.ts";
import type { Mark } from "./align.ts";
import { Painter } from "./painter.ts";
import { faded } from "./palette.ts";
import type { Palette } from "./palette.ts";

/** In parts of the text's size, so that markers grow with it. */
const size = 0.42, gap = 0.42, font = 0.83;
/** Pixels. */
const bar = 2;
/** Above and below the candles, so that no marker is cut off. */
const room = 2.3;

interface Drawn extends Mark {
  low: number;
  high: number;
}

export class FillMarks extends Painter {
  private marks: Drawn[] = [];

  constructor(palette: Palette, private readonly family: string, private readonly em: number) {
    super("top", palette);
  }

  autoscaleInfo() {
    return this.marks.length ? { priceRange: null, margins: { above: room * this.em, below: room * this.em } } : null;
  }

  set(marks: Drawn[]) {
    this.marks = marks;
    this.redraw();
  }

  protected draw(target: CanvasRenderingTarget2D) {
    target.useMediaCoordinateSpace(({ context, mediaSize }) => {
      context.font = `${font * this.em}px ${this.family}`;
      context.textAlign = "center";
      context.lineWidth = 1.5;
      const last = { buys: -Infinity, sells: -Infinity };
      const scale = this.host!.chart.timeScale();
      for (const mark of this.marks) {
        const x = scale.logicalToCoordinate(mark.slot as Parameters<typeof scale.logicalToCoordinate>[0]);
        if (x === null || x < -this.em || x > mediaSize.width + this.em) continue;
        for (const side of ["buys", "sells"] as const) if (mark[side]) last[side] = this.one(context, mark, side, x, last[side]);
      }
    });
  }

  /** Draws one marker and returns where its text ends, so that the next one's does not run into it. */
  private one(context: CanvasRenderingContext2D, mark: Drawn, side: "buys" | "sells", x: number, taken: number): number {
    const buys = side === "buys";
    const y = this.host!.series.priceToCoordinate(buys ? mark.low : mark.high);
    if (y === null) return taken;
    const down = buys ? 1 : -1, wide = size * this.em, tip = y + down * gap * this.em, base = tip + down * wide * 1.6;
    const color = buys ? this.palette.up : this.palette.down;
    context.beginPath();
    context.moveTo(x, tip);
    context.lineTo(x - wide, base);
    context.lineTo(x + wide, base);
    context.closePath();
    context.fillStyle = this.palette.panel;
    context.fill();
    context.fillStyle = faded(color, 1 - Math.min(1, mark.ambiguous / (mark.buys + mark.sells)));
    context.fill();
    context.strokeStyle = color;
    context.stroke();
    if (mark[side] < 2) return taken;
    context.fillStyle = color;
    context.fillRect(x - wide, buys ? base + bar : base - 2 * bar, 2 * wide, bar);
    const text = count(mark[side]), half = context.measureText(text).width / 2;
    if (x - half < taken + 2) return taken;
    context.fillStyle = this.palette.text;
    context.textBaseline = buys ? "top" : "bottom";
    context.fillText(text, x, base + down * 3 * bar);
    return x + half;
  }
}
