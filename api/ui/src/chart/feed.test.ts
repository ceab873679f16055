import type { EquityTuple, SeriesRequest, SeriesResult } from "../api/types.ts";
import type { Source } from "../state/source.ts";
import { Unavailable } from "../state/source.ts";
import { equal, ok, test } from "../testing.ts";
import { Feed } from "./feed.ts";
import type { Wish } from "./feed.ts";
import { Throttle } from "./pace.ts";

const hour = 3_600_000;

/** A service with 100 candles that answers when it is told to. */
function service() {
  const asked: SeriesRequest[] = [];
  const held: (() => void)[] = [];
  const state = { hold: false, candles: true };
  const points = (r: SeriesRequest): number[][] => {
    const all = Array.from({ length: 100 }, (_, i) => i * hour).filter((t) => t >= (r.from ?? 0) && t < (r.to ?? Infinity));
    if (r.series === "candles") return all.map((t) => [t, 1, 2, 0.5, 1.5, 1]);
    if (r.series === "equity") return all.map((t) => [t + hour, 100, 50, 0]);
    if (r.series === "fills") return all.filter((_, i) => i % 10 === 0).map((t) => [t, 1, 0, 0]);
    return all.map((t) => [t + hour, 1.2]);
  };
  const source: Source = {
    rows: () => Promise.reject(new Unavailable("no rows")),
    series: (r) => {
      asked.push(r);
      if (r.series === "candles" && !state.candles) return Promise.reject(new Unavailable("no candles"));
      const result: SeriesResult = { points: points(r), method: "none", of: points(r).length };
      return state.hold ? new Promise((done) => held.push(() => done(result))) : Promise.resolve(result);
    },
  };
  return { asked, source, state, release: () => held.splice(0).forEach((go) => go()) };
}

function wishFor(source: Source, more: Partial<Wish> = {}): Wish {
  return { source, symbol: "A/B", timeframe: hour, lines: [], width: 1000, candles: true, equity: [], ...more };
}

test("chart: the whole run is loaded once and comes back from memory", async () => {
  const s = service();
  let changes = 0;
  const feed = new Feed(() => changes++);
  ok(await feed.load(wishFor(s.source, { lines: ["fast"] }), null, null), "candles were there");
  equal(s.asked.map((r) => r.series), ["candles", "equity", "fills", "annotation:fast"]);
  ok(s.asked.every((r) => r.from === undefined && (r.maxPoints ?? 0) <= 2000), "all of it, bounded");
  equal(feed.overview!.span, { from: 0, to: 100 * hour });
  await feed.load(wishFor(s.source), { from: 10 * hour, to: 20 * hour }, { from: 12 * hour, to: 18 * hour });
  equal([feed.shown!.parts.candles.length, feed.shown!.parts.equity.length], [10, 10]);
  const before = s.asked.length;
  feed.showOverview();
  equal([feed.shown!.parts.candles.length, s.asked.length - before], [100, 0]);
  ok(changes >= 3, "drawn each time");
});

test("chart: a superseded answer is dropped", async () => {
  const s = service();
  const feed = new Feed(() => {});
  await feed.load(wishFor(s.source), null, null);
  s.state.hold = true;
  const first = feed.load(wishFor(s.source), { from: 0, to: 50 * hour }, { from: 0, to: 40 * hour });
  const second = feed.load(wishFor(s.source), { from: 60 * hour, to: 80 * hour }, { from: 65 * hour, to: 75 * hour });
  s.release();
  await Promise.all([first, second]);
  equal(feed.detail!.span, { from: 60 * hour, to: 80 * hour });
  const third = feed.load(wishFor(s.source), { from: 0, to: 50 * hour }, null);
  feed.clear();
  s.release();
  await third;
  equal(feed.shown, null);
});

test("chart: what cannot be had leaves what came by itself", async () => {
  const s = service();
  s.state.candles = false;
  const feed = new Feed(() => {});
  const equity: EquityTuple[] = [[hour, 1, 1, 0], [2 * hour, 2, 1, 0]];
  ok(!(await feed.load(wishFor(s.source, { equity }), null, null)), "no candles");
  s.asked.length = 0;
  ok(await feed.load(wishFor(s.source, { candles: false }), null, null), "none expected");
  equal(s.asked.map((r) => r.series), ["equity"]);
  feed.grow(equity);
  equal(feed.overview!.span, { from: hour, to: 2 * hour });
});

test("chart: fewer markers where there is less room, never more than 500", async () => {
  const s = service();
  const feed = new Feed(() => {});
  const most = async (width: number) => {
    s.asked.length = 0;
    await feed.load(wishFor(s.source, { width }), null, null);
    return s.asked.find((r) => r.series === "fills")!.maxPoints!;
  };
  equal([await most(220), await most(50_000), await most(0)], [10, 250, 2]);
  await feed.load(wishFor(s.source, { width: 220 }), null, null);
  equal(feed.shown!.parts.every, 10);
});

test("chart: candles and equity that come by themselves reach the end of the axis", async () => {
  const s = service();
  const feed = new Feed(() => {});
  await feed.load(wishFor(s.source), null, null);
  await feed.load(wishFor(s.source), { from: 0, to: 20 * hour }, { from: 0, to: 10 * hour });
  feed.push([100 * hour, 1, 1, 1, 7, 1]);
  equal([feed.overview!.parts.candles.length, feed.detail!.parts.candles.length], [101, 20]);
  equal(feed.overview!.span.to, 101 * hour);
  feed.grow([[101 * hour, 9, 9, 0]]);
  equal([feed.detail!.parts.equity.length, feed.lastPrice()], [20, 7]);
});

test("chart: a throttle acts at once and then waits", async () => {
  let now = 0, acts = 0;
  const throttle = new Throttle(50, () => acts++, () => now);
  throttle.call();
  throttle.call();
  equal(acts, 1);
  throttle.now();
  equal(acts, 2, "now does not wait");
  now = 60;
  throttle.call();
  equal(acts, 3);
  throttle.call();
  throttle.cancel();
  await new Promise((done) => setTimeout(done, 60));
  equal(acts, 3, "cancelled");
});
