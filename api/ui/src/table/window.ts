// Which rows of a long table are in the DOM, and where they stand.

/** Browsers draw no element taller than some 17 million px; a longer table is scrolled in larger steps. */
export const tallest = 8_000_000;
/** Rows kept ready above and below what is seen: scrolling draws before the script runs. */
export const spare = 10;

/** Rows that a table shows at least, and its greatest height, rem. */
const fewest = 5;
const highest = 24;

export interface Scroll {
  rows: number;
  rowHeight: number;
  /** Height of what is seen of the rows, without the head. */
  viewport: number;
  scrollTop: number;
}

export interface Window {
  /** First row in the DOM. */
  first: number;
  /** One behind the last. */
  end: number;
  /** Height of all rows, at most tallest. */
  height: number;
  /** Row i stands at i * rowHeight + shift; 0 unless the table is too tall. */
  shift: number;
}

/** The rows to draw. */
export function windowOf(s: Scroll): Window {
  const top = virtualTop(s);
  const first = Math.min(s.rows, Math.floor(top / s.rowHeight));
  const end = Math.ceil((top + s.viewport) / s.rowHeight);
  return {
    first: Math.max(0, first - spare),
    end: Math.min(s.rows, end + spare),
    height: heightOf(s),
    shift: bounded(s) - top,
  };
}

/** Rows that are seen, at least in part. */
export function seen(s: Scroll): { first: number; end: number } {
  const top = virtualTop(s);
  return { first: Math.min(s.rows, Math.floor(top / s.rowHeight)), end: Math.min(s.rows, Math.ceil((top + s.viewport) / s.rowHeight)) };
}

/** The scrollTop that shows a row whole: the same when it is, else the nearest, or the middle when it is further than a screen away. */
export function reveal(s: Scroll, row: number): number {
  const top = virtualTop(s), from = row * s.rowHeight, to = from + s.rowHeight;
  if (from >= top && to <= top + s.viewport) return s.scrollTop;
  const far = from < top - s.viewport || to > top + 2 * s.viewport;
  const want = far ? from - (s.viewport - s.rowHeight) / 2 : from < top ? from : to - s.viewport;
  return physical(s, want);
}

/** The scrollTop that keeps what is seen in place when rows were added above it. */
export function keep(s: Scroll, added: number): number {
  return physical({ ...s, rows: s.rows + added }, virtualTop(s) + added * s.rowHeight);
}

/** Whole rows that fit, for the Page keys; at least one. */
export function pageOf(s: Pick<Scroll, "rowHeight" | "viewport">): number {
  return Math.max(1, Math.floor(s.viewport / s.rowHeight));
}

function heightOf(s: Scroll): number {
  return Math.min(s.rows * s.rowHeight, tallest);
}

// scrollTop may be outside for a moment: elastic scrolling, or rows that went away.
function bounded(s: Scroll): number {
  return Math.max(0, Math.min(s.scrollTop, heightOf(s) - s.viewport));
}

/** How far a table of full height would be scrolled. */
function virtualTop(s: Scroll): number {
  return bounded(s) * ratio(s);
}

function physical(s: Scroll, top: number): number {
  const furthest = Math.max(0, s.rows * s.rowHeight - s.viewport);
  return Math.max(0, Math.min(top, furthest)) / ratio(s);
}

function ratio(s: Scroll): number {
  const full = s.rows * s.rowHeight, height = heightOf(s);
  return height < full && height > s.viewport ? (full - s.viewport) / (height - s.viewport) : 1;
}

/** The greatest height, for CSS, of a table that begins above px down the page: what the screen has left, but some rows at least; when it
 *  begins beyond the first screen, a part of a screen. scrollbar is the height of the one below. */
export function roomFor(above: number, rowHeight: number, screen: number, scrollbar: number): string {
  const least = (fewest + 1) * rowHeight + scrollbar;
  const left = above >= screen - rowHeight ? screen * 0.6 : screen - above - 12;
  return `min(${highest}rem, ${Math.floor(Math.max(least, left))}px)`;
}
