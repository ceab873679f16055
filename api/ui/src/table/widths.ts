// Widths of columns: wide enough for the longest text drawn so far, never narrower
// again, so that nothing jumps while one scrolls.
import type { Column } from "./columns.ts";
import { headOf } from "./columns.ts";

/** Free text beyond so many characters is cut; numbers never are. */
const mostText = 28;

export class Widths {
  /** Characters of each column. */
  private readonly longest: number[];
  private readonly most: number[];
  private grown = true;

  constructor(columns: readonly Column<never>[], quote: string) {
    // A head is written smaller than its cells and has an arrow behind it.
    this.longest = columns.map((c) => Math.ceil(headOf(c, quote).length * 0.8 + 1.5));
    this.most = columns.map((c) => (c.look === "right" ? Infinity : mostText));
  }

  /** A text was drawn in a column. */
  seen(column: number, length: number) {
    const width = Math.min(length, this.most[column] ?? 0);
    if (width <= (this.longest[column] ?? 0)) return;
    this.longest[column] = width;
    this.grown = true;
  }

  /** The columns for CSS when they have changed since the last call, else null. What is left over is shared out by width. */
  changed(): { tracks: string; least: string } | null {
    if (!this.grown) return null;
    this.grown = false;
    const last = this.longest.length - 1;
    // Half a rem of padding, and a quarter more at the edges.
    const pads = this.longest.map((_, i) => 0.5 + (i === 0 ? 0.25 : 0) + (i === last ? 0.25 : 0));
    const sum = (list: number[]) => list.reduce((a, n) => a + n, 0);
    return {
      tracks: this.longest.map((n, i) => `minmax(calc(${n}ch + ${pads[i]}rem), ${n}fr)`).join(" "),
      least: `calc(${sum(this.longest)}ch + ${sum(pads)}rem)`,
    };
  }
}
