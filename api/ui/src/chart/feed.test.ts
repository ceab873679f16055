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
  const state = { hold: false, candles: true, more: 0, many: false };
  const points = (r: SeriesRequest): number[][] => {
    const all = Array.from({ length: 100 + state.more }, (_, i) => i * hour).filter((t) => t >= (r.from ?? 0) && t < (r.to ?? Infinity));
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
      const result: SeriesResult = { points: points(r), method: state.many ? "aggregate" : "none", of: points(r).length };
      return state.hold ? new Promise((done) => held.push(() => done(result))) : Promise.resolve(result);
    },
  };
  return { asked, source, state, release: () => held.splice(0).forEach((go) => go()) };
}

function wishFor(source: Source, more: Partial<Wish> = {}): Wish {
  return { source, symbol: "A/B", timeframe: hour, lines: [], width: 1000, candles: true, ahead: false, until: null, equity: [], ...more };
}

test("chart: the whole run is loaded once and comes back from memory", async () => {
  const s = service();
  let changes = 0;
  const feed = new Feed(() => changes++);
  ok(await feed.load(wishFor(s.source, { lines: ["fast"] }), null, null), "candles were there");
  equal(s.asked.map((r) => r.series), ["candles", "equity", "fills", "annotation:fast"]);
  ok(s.asked.every((r) => r.from === undefined && (r.maxPoints ?? 0) <= 4000), "all of it, bounded");
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

test("chart: markers that are asked for while the chart loads are kept, whichever ends first", async () => {
  for (const marksFirst of [true, false]) {
    const s = service(), held: { series: string; go: () => void }[] = [];
    let fills = 0, holds = false;
    // As the stream does, a question pushes aside the one of its kind that waits.
    const source: Source = {
      ...s.source,
      series: (r) => {
        if (!holds) return s.source.series(r);
        const aside = r.series === "fills" && fills++ === 0, answer = s.source.series(r);
        return new Promise((done, fail) => held.push({ series: aside ? "aside" : r.series, go: () => (aside ? fail(new Unavailable("another one")) : done(answer)) }));
      },
    };
    const feed = new Feed(() => {});
    await feed.load(wishFor(source), null, null);
    [s.state.more, holds] = [50, true];
    const load = feed.load(wishFor(source), null, null), marks = feed.refreshMarks(wishFor(source));
    const [first, rest] = [held.filter((h) => (h.series === "fills") === marksFirst), held.filter((h) => (h.series === "fills") !== marksFirst)];
    first.forEach((h) => h.go());
    await (marksFirst ? marks : load);
    rest.forEach((h) => h.go());
    await Promise.all([load, marks]);
    equal([feed.shown!.parts.candles.length, feed.shown!.parts.fills.length], [150, 15]);
  }
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
  const every = async (width: number) => {
    await feed.load(wishFor(s.source, { width }), null, null);
    return feed.shown!.parts.every;
  };
  equal([await every(220), await every(50_000), await every(0)], [10, 1, 50]);
  ok(feed.shown!.exact === false, "closer there are more");
  equal(s.asked.filter((r) => r.series === "fills").map((r) => r.maxPoints), [4000, 4000, 4000]);
  ok(feed.shown!.parts.counted, "each candle has its own");
});

test("chart: markers stay when the connection is lost", async () => {
  const s = service();
  const feed = new Feed(() => {});
  await feed.load(wishFor(s.source, { width: 220 }), null, null);
  const before = feed.shown!.parts;
  const gone: Source = { rows: () => Promise.reject(new Unavailable("")), series: () => Promise.reject(new Unavailable("")) };
  await feed.load(wishFor(gone, { width: 220 }), null, null);
  equal([feed.shown!.parts.fills.length, feed.shown!.parts.every, feed.shown!.parts.candles.length], [before.fills.length, 10, 100]);
  await feed.load(wishFor(gone), { from: 10 * hour, to: 30 * hour }, null);
  equal(feed.detail!.parts.fills.map((p) => p[0] / hour), [10, 20]);
});

test("chart: an ended run has no candles after its end, a running one sees as far as it got", async () => {
  const s = service();
  const feed = new Feed(() => {});
  await feed.load(wishFor(s.source, { until: 40 * hour }), null, null);
  equal([feed.shown!.parts.candles.length, feed.shown!.parts.now], [40, Infinity]);
  await feed.load(wishFor(s.source, { until: 40 * hour }), { from: 30 * hour, to: 60 * hour }, null);
  equal(feed.shown!.parts.candles.length, 10);
  const equity: EquityTuple[] = [[20 * hour, 1, 1, 0]];
  await feed.load(wishFor(s.source, { ahead: true, equity }), null, null);
  equal([feed.shown!.parts.candles.length, feed.shown!.parts.now], [100, 20 * hour]);
  feed.grow([...equity, [21 * hour, 1, 1, 0]]);
  equal(feed.shown!.parts.now, 21 * hour);
  feed.clear();
  await feed.load(wishFor(s.source, { ahead: true }), null, null);
  equal(feed.lastPrice(), null, "it has not begun");
});

test("chart: the merged candle that a run is within is asked for as far as it got", async () => {
  const asked: SeriesRequest[] = [];
  const source: Source = {
    rows: () => Promise.reject(new Unavailable("")),
    series: async (r) => {
      asked.push(r);
      if (r.series !== "candles") return { points: [], method: "none", of: 0 };
      if (r.maxPoints === 1) return { points: [[r.from!, 1, 3, 1, 2, 1]], method: "aggregate", of: 2 };
      return { points: [0, 3, 6, 9].map((t) => [t * hour, 1, 9, 0.5, 8, 1]), method: "aggregate", of: 10 };
    },
  };
  const feed = new Feed(() => {});
  const wish = wishFor(source, { ahead: true, equity: [[5 * hour, 1, 1, 0]] });
  await feed.load(wish, null, null);
  equal([feed.shown!.parts.each, feed.shown!.parts.step, feed.lastPrice()], [3, 3 * hour, 8]);
  await feed.refreshHead(wish);
  equal([asked.at(-1)!.from, asked.at(-1)!.to, feed.lastPrice()], [3 * hour, 5 * hour, 2]);
});

test("chart: candles and equity that come by themselves reach the end of the axis", async () => {
  const s = service();
  const feed = new Feed(() => {});
  await feed.load(wishFor(s.source), null, null);
  await feed.load(wishFor(s.source), { from: 0, to: 20 * hour }, { from: 0, to: 10 * hour });
  ok(feed.push([100 * hour, 1, 1, 1, 7, 1], hour), "the next one");
  equal([feed.overview!.parts.candles.length, feed.detail!.parts.candles.length], [101, 20]);
  equal(feed.overview!.span.to, 101 * hour);
  feed.grow([[101 * hour, 9, 9, 0]]);
  equal([feed.detail!.parts.equity.length, feed.lastPrice()], [20, 7]);
});

test("chart: candles that did not come by themselves are asked for, and none is left out", async () => {
  const s = service();
  const feed = new Feed(() => {});
  await feed.load(wishFor(s.source), null, null);
  const opened = () => feed.overview!.parts.candles.map((c) => c[0] / hour);
  ok(!feed.push([103 * hour, 1, 1, 1, 7, 1], hour), "three are missing");
  equal([opened().length, opened().at(-1)], [100, 99]);
  s.state.more = 5;
  equal(await feed.catchUp(wishFor(s.source)), "done");
  equal([s.asked.at(-1)!.from, opened().slice(98)], [99 * hour, [98, 99, 100, 101, 102, 103, 104]]);
  equal(feed.overview!.span.to, 105 * hour);
  ok(feed.push([105 * hour, 1, 1, 1, 7, 1], hour), "one after the other again");
  s.state.many = true;
  ok(!feed.push([5000 * hour, 1, 1, 1, 7, 1], hour), "very many are missing");
  equal(await feed.catchUp(wishFor(s.source)), "anew");
});

test("chart: the first candles of a run may come after the answer that had none", async () => {
  const s = service();
  const empty: Source = { ...s.source, series: async () => ({ points: [], method: "none", of: 0 }) };
  const feed = new Feed(() => {});
  equal(await feed.catchUp(wishFor(empty)), "later", "nothing is loaded yet");
  await feed.load(wishFor(empty), null, null);
  ok(!feed.push([0, 1, 1, 1, 1, 1], hour), "it is not known what was before");
  equal([feed.overview!.parts.candles.length, await feed.catchUp(wishFor(s.source))], [0, "anew"]);
  s.state.hold = true;
  const load = feed.load(wishFor(s.source), null, null);
  equal(await feed.catchUp(wishFor(s.source)), "later", "a load is under way");
  s.release();
  await load;
  equal(feed.overview!.parts.candles.length, 100);
});

test("chart: merged candles take the newest price along and say that they are not exact", async () => {
  const source: Source = {
    rows: () => Promise.reject(new Unavailable("")),
    series: async (r) => (r.series === "candles" ? { points: [0, 3, 6].map((t) => [t * hour, 1, 9, 0.5, 8, 1]), method: "aggregate", of: 9 } : { points: [], method: "none", of: 0 }),
  };
  const feed = new Feed(() => {});
  await feed.load(wishFor(source), null, null);
  ok(feed.push([9 * hour, 8, 8, 8, 8, 1], hour), "the next one");
  ok(!feed.push([11 * hour, 8, 8, 8, 7, 1], hour), "one is missing");
  equal([feed.overview!.parts.candles.length, feed.lastPrice()], [4, 7]);
  equal(await feed.catchUp(wishFor(source)), "anew", "only the service can merge them");
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
