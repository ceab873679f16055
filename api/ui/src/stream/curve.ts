// The equity curve of a run that is under way: bounded, with the worst drawdown exact.
import type { EquityPoint, EquityTuple } from "../api/types.ts";

/** Most points of the curve. */
export const mostPoints = 4000;
/** Thinning leaves room, so that it is rare. */
const buckets = 1000;

export const tuple = (p: EquityPoint): EquityTuple => [Date.parse(p.timestamp), p.equity, p.cash, p.drawdown];

/** The curve with new points behind it; those that are known already are passed over. */
export function appended(curve: EquityTuple[], points: EquityTuple[]): EquityTuple[] {
  const last = curve.at(-1)?.[0] ?? -Infinity;
  const fresh = points.filter((p) => p[0] > last);
  return fresh.length === 0 ? curve : thinned([...curve, ...fresh]);
}

/**
 * At most mostPoints. Beyond, the lowest and the highest of each stretch of time stay,
 * and with them first, last, the worst drawdown's peak and trough, and the highest
 * point of all, which is the peak of whatever drawdown comes next.
 */
export function thinned(curve: EquityTuple[]): EquityTuple[] {
  if (curve.length <= mostPoints) return curve;
  const keep = new Set<number>([0, curve.length - 1, ...extremes(curve)]);
  const begin = curve[0]![0], span = curve.at(-1)![0] - begin || 1;
  let bucket = -1, low = 0, high = 0;
  for (let i = 0; i < curve.length; i++) {
    const now = Math.floor(((curve[i]![0] - begin) / span) * buckets);
    if (now !== bucket) {
      keep.add(low).add(high);
      [bucket, low, high] = [now, i, i];
    }
    if (curve[i]![1] < curve[low]![1]) low = i;
    if (curve[i]![1] > curve[high]![1]) high = i;
  }
  return [...keep.add(low).add(high)].sort((a, b) => a - b).map((i) => curve[i]!);
}

/** Indexes of the worst drawdown's peak and trough and of the highest point. */
function extremes(curve: EquityTuple[]): number[] {
  let top = 0, peak = 0, trough = 0;
  for (let i = 0; i < curve.length; i++) {
    if (curve[i]![1] >= curve[top]![1]) top = i;
    if (curve[i]![3] > curve[trough]![3]) [peak, trough] = [top, i];
  }
  return [peak, trough, top];
}
