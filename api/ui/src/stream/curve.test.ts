import { equal, ok, test } from "../testing.ts";
import type { EquityTuple } from "../api/types.ts";
import { appended, mostPoints, thinned } from "./curve.ts";

/** A curve that wanders, with its exact drawdowns. */
function curve(n: number, seed = 3): EquityTuple[] {
  let equity = 10_000, top = 0;
  return Array.from({ length: n }, (_, i) => {
    seed = (seed * 48271) % 2147483647;
    equity *= 1 + 0.02 * (seed / 2147483647 - 0.5);
    top = Math.max(top, equity);
    return [i * 60_000, equity, equity / 2, 1 - equity / top] as EquityTuple;
  });
}

test("the curve is bounded, ascending, and keeps its extremes", () => {
  const all = curve(100_000);
  let kept: EquityTuple[] = [];
  for (let i = 0; i < all.length; i += 137) {
    kept = appended(kept, all.slice(i, i + 137));
    ok(kept.length <= mostPoints, `${kept.length} points`);
  }
  const has = (p: EquityTuple, what: string) => ok(kept.includes(p), what);
  const worst = all.reduce((a, b) => (b[3] > a[3] ? b : a));
  const peak = all.slice(0, all.indexOf(worst)).reduce((a, b) => (b[1] >= a[1] ? b : a));
  has(all[0]!, "first");
  has(all.at(-1)!, "last");
  has(worst, "trough");
  has(peak, "peak");
  has(all.reduce((a, b) => (b[1] > a[1] ? b : a)), "highest");
  ok(kept.every((p, i) => i === 0 || p[0] > kept[i - 1]![0]), "ascending");
  ok(kept.length > 1000, `only ${kept.length} points`);
});

test("short curves stay whole, known points are passed over", () => {
  const all = curve(4000);
  equal(thinned(all) === all, true);
  equal(appended(all, all.slice(100)) === all, true);
  equal(appended([], all.slice(0, 2)), all.slice(0, 2));
  equal(thinned(Array.from({ length: 5000 }, () => [5, 1, 1, 0] as EquityTuple)).length <= mostPoints, true, "all at one time");
});
