// Log lines have no number, so where a snapshot and the frames around it overlap is
// found by comparing them.
import type { LogLine } from "../api/types.ts";

/** Most lines that are kept. */
const mostLines = 1000;
/** No overlap is longer than the log of a snapshot. */
const mostOverlap = 200;

/**
 * Lines with fresher ones behind them, those in both taken once. Null without any
 * overlap: then it is not known what is in between.
 */
export function joined(known: LogLine[], fresh: LogLine[]): LogLine[] | null {
  for (let from = Math.max(0, known.length - mostOverlap); from < known.length; from++) {
    const n = Math.min(fresh.length, known.length - from);
    let i = 0;
    while (i < n && same(known[from + i]!, fresh[i]!)) i++;
    if (i === n) return fresh.length <= n ? known : bounded([...known.slice(0, from), ...fresh]);
  }
  return null;
}

/** Known lines and behind them the log of a snapshot, which is whole where what is known may have holes. */
export function replaced(known: LogLine[], whole: LogLine[]): LogLine[] {
  const all = joined(known, whole);
  if (all) return all;
  for (const line of whole) {
    const from = known.findIndex((old) => same(old, line));
    if (from >= 0) return bounded([...known.slice(0, from), ...whole]);
  }
  return bounded([...known, ...whole]);
}

const omission = " more lines are not shown here";

/** Stands where the stream left lines out. */
export const gap = (n: number): LogLine => ({ time: null, level: "info", source: "host", message: n + omission, fields: null });

export const hasGap = (lines: LogLine[]): boolean => lines.some((line) => line.message.endsWith(omission));

export const bounded = (lines: LogLine[]): LogLine[] => (lines.length > mostLines ? lines.slice(-mostLines) : lines);

function same(a: LogLine, b: LogLine): boolean {
  return a.message === b.message && a.time === b.time && a.level === b.level && a.source === b.source
    && JSON.stringify(a.fields ?? null) === JSON.stringify(b.fields ?? null);
}
