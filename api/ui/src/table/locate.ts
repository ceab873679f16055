// Finding the row of a moment with few looks at rows that may have to be asked for.

import { pageSize } from "./pages.ts";

type Span = readonly [number, number];

/** How far a moment is from a row: 0 within it. */
export function distance([from, to]: Span, time: number): number {
  return time < from ? from - time : time > to ? time - to : 0;
}

/** The row nearest to a moment; -1 without rows. Rows 0 to total-1 are in the order of the end of their span. */
export async function locate(total: number, span: (row: number) => Promise<Span>, time: number): Promise<number> {
  if (total === 0) return -1;
  const after = await firstNotBefore(total, span, time);
  if (after === 0) return 0;
  if (after === total) return total - 1;
  const [older, newer] = [await span(after - 1), await span(after)];
  return distance(older, time) < distance(newer, time) ? after - 1 : after;
}

/** The first row that ends at time or later. */
async function firstNotBefore(total: number, span: (row: number) => Promise<Span>, time: number): Promise<number> {
  let low = 0, high = total - 1;
  const last = (await span(high))[1];
  if (last < time) return total;
  let lowTime = (await span(low))[1], highTime = last, look = 0;
  if (lowTime >= time) return 0;
  for (let turn = 0; high - low > 1; turn++) {
    look = Math.min(high - 1, Math.max(low + 1, place(turn % 3)));
    const end = (await span(look))[1];
    if (end < time) [low, lowTime] = [look, end];
    else [high, highTime] = [look, end];
  }
  return high;

  // Where even times would have it; then a page further, which mostly leaves a page or two
  // to look at; then the middle, so that uneven times cost little more than halving.
  function place(turn: number): number {
    if (turn === 0) return Math.round(low + ((time - lowTime) / (highTime - lowTime)) * (high - low));
    if (turn === 1) return look === low ? low + pageSize : high - pageSize;
    return (low + high) >> 1;
  }
}

/** The nearest of the rows around one that are wanted; itself when none of so many on either side is. */
export async function beside(row: number, total: number, look: (row: number) => Promise<{ mine: boolean; distance: number }>, most = pageSize): Promise<number> {
  let best = row, least = Infinity;
  for (const way of [-1, 1]) {
    for (let i = row, n = 0; i >= 0 && i < total && n <= most; i += way, n++) {
      const { mine, distance } = await look(i);
      if (!mine) continue;
      if (distance < least) [best, least] = [i, distance];
      break;
    }
  }
  return best;
}

/** The row nearest to a moment among rows that are all here, in any order: the place in the list. */
export function nearest(spans: readonly Span[], time: number): number {
  let best = -1, least = Infinity;
  spans.forEach((span, i) => {
    const d = distance(span, time);
    if (d < least) [best, least] = [i, d];
  });
  return best;
}
