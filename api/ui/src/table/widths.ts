// Widths of columns: wide enough for the longest text drawn so far, never narrower
// again, so that nothing jumps while one scrolls.
import type { Column } from "./columns.ts";
import { headOf } from "./columns.ts";

/** Free text beyond so many characters is cut; numbers never are. */
const mostText = 28;

/** In digits. */
const widest = 2;

/** The width of a text in digits, rounded up: capitals are wider, and letters of other alphabets may be twice as wide. */
export function charactersOf(text: string): number {
  let width = 0;
  for (const c of text) width += c > "\u2fff" ? widest : c >= "A" && c <= "Z" ? 1.2 : 1;
  return Math.ceil(width);
}

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
  seen(column: number, text: string) {
    const longest = this.longest[column] ?? 0;
    // Most are too short, however wide their characters are.
    if (text.length * widest <= longest) return;
    const width = Math.min(charactersOf(text), this.most[column] ?? 0);
    if (width <= longest) return;
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
