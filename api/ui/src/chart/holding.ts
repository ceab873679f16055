// Trades: the holding time as a shade, a line from entry to exit, and of one what came of it.
import type { CanvasRenderingTarget2D } from "fancy-canvas";
import { Painter } from "./painter.ts";
import { faded } from "./palette.ts";
import type { Palette } from "./palette.ts";

/** A trade on the axis: slots and prices, and its words. */
export interface Held {
  from: number;
  to: number;
  entry: number;
  exit: number;
  won: boolean;
  /** "" for none. */
  text: string;
  /** Whether it is the selected one. */
  strong: boolean;
}

export class Holding extends Painter {
  private held: readonly Held[] = [];

  constructor(palette: Palette, private readonly font: string) {
    super("top", palette);
  }

  set(held: readonly Held[]) {
    this.held = held;
    this.redraw();
  }

  protected draw(target: CanvasRenderingTarget2D) {
    for (const held of this.held) this.drawOne(target, held);
  }

  private drawOne(target: CanvasRenderingTarget2D, held: Held) {
    const { host } = this;
    if (!host) return;
    const [from, to] = [this.across(held.from), this.across(held.to)], [entry, exit] = [host.series.priceToCoordinate(held.entry), host.series.priceToCoordinate(held.exit)];
    if (from === null || to === null || entry === null || exit === null) return;
    const color = held.won ? this.palette.up : this.palette.down;
    target.useMediaCoordinateSpace(({ context, mediaSize }) => {
      context.fillStyle = faded(color, held.strong ? 0.1 : 0.06);
      context.fillRect(from, 0, Math.max(1, to - from), mediaSize.height);
      context.strokeStyle = color;
      context.lineWidth = 2;
      context.beginPath();
      context.moveTo(from, entry);
      context.lineTo(to, exit);
      context.stroke();
      if (!held.text) return;
      context.font = this.font;
      context.textBaseline = "bottom";
      const width = context.measureText(held.text).width + 8;
      const left = Math.min(Math.max(4, (from + to) / 2 - width / 2), mediaSize.width - width - 4), bottom = mediaSize.height - 6;
      context.fillStyle = this.palette.panel;
      context.fillRect(left, bottom - 18, width, 20);
      context.strokeRect(left, bottom - 18, width, 20);
      context.fillStyle = this.palette.text;
      context.fillText(held.text, left + 4, bottom);
    });
  }
}
