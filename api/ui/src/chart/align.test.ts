import type { CandleTuple, EquityTuple } from "../api/types.ts";
import { equal, ok, test } from "../testing.ts";
import * as a from "./align.ts";

const hour = 3_600_000;
const candle = (t: number, close = 100): CandleTuple => [t, 100, 110, 90, close, 1];
const axis = a.candleAxis([candle(0), candle(hour), candle(2 * hour), candle(5 * hour)], hour);

test("chart: moments belong to the slot that contains them", () => {
  equal([0, 1, hour - 1, hour, 4 * hour, 5 * hour, 99 * hour, -5].map((t) => a.slotOf(axis, t)), [0, 0, 0, 1, 2, 3, 3, 0]);
  equal([0, 1, hour, hour + 1, 2 * hour, 5 * hour, 6 * hour].map((t) => a.closeSlotOf(axis, t)), [0, 0, 0, 1, 1, 2, 3]);
  equal(a.slotOf(a.noAxis, 5), -1);
  equal(a.closeSlotOf(a.noAxis, 5), -1);
});

test("chart: equity closes the candle that it belongs to", () => {
  const points: EquityTuple[] = [[hour, 100, 90, 0], [2 * hour, 101, 80, 0.01], [3 * hour, 99, 70, 0.02], [6 * hour, 102, 60, 0]];
  equal(a.alignEquity(axis, points).map((p) => p[0] / hour), [0, 1, 2, 5]);
  equal(a.alignEquity(a.noAxis, points), []);
  equal(a.alignEquity(axis, []), []);
});

test("chart: a slot keeps extremes, the worst drawdown and the last cash", () => {
  const wide = a.candleAxis([candle(0), candle(10 * hour)], 10 * hour);
  const points: EquityTuple[] = [
    [hour, 100, 100, 0], [2 * hour, 140, 90, 0], [3 * hour, 120, 80, 0.14], [10 * hour, 125, 70, 0.1],
    [11 * hour, 90, 60, 0.36], [12 * hour, 95, 50, 0.32], [20 * hour, 110, 40, 0.21],
  ];
  equal(a.alignEquity(wide, points), [[0, 140, 70, 0.14], [10 * hour, 110, 40, 0.36]]);
  equal(a.alignEquity(wide, points.slice(0, 6)), [[0, 140, 70, 0.14], [10 * hour, 95, 50, 0.36]]);
});

test("chart: random equity keeps its extremes on far fewer slots", () => {
  let seed = 7;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const few = a.candleAxis(Array.from({ length: 50 }, (_, i) => candle(i * 40 * hour)), 40 * hour);
  let value = 1000, peak = 1000;
  const points = Array.from({ length: 2000 }, (_, i): EquityTuple => {
    value *= 1 + (random() - 0.5) / 20;
    peak = Math.max(peak, value);
    return [(i + 1) * hour, value, value / 2, 1 - value / peak];
  });
  const got = a.alignEquity(few, points);
  const most = (rows: EquityTuple[], column: number) => Math.max(...rows.map((p) => p[column]!));
  ok(got.length <= 50, "one point a slot");
  equal(most(got, 3), most(points, 3), "drawdown");
  equal(most(got, 1), most(points, 1), "highest");
  equal(got.at(-1)![1], points.at(-1)![1], "last");
});

test("chart: without candles equity has an axis of its own", () => {
  const points: EquityTuple[] = [[hour, 1, 1, 0], [2 * hour, 2, 1, 0], [2 * hour, 3, 1, 0], [3 * hour, 4, 1, 0]];
  const own = a.equityAxis(points);
  equal(own, { times: [hour, 2 * hour, 3 * hour], end: 4 * hour, closing: true });
  equal(a.alignEquity(own, points).map((p) => [p[0] / hour, p[1]]), [[1, 1], [2, 3], [3, 4]]);
  equal(a.equityAxis([]), { times: [], end: 1, closing: true });
  equal(a.equityAxis([[5, 1, 1, 0]]).end, 6);
});

test("chart: doubled candles make one slot", () => {
  equal(a.candleAxis([candle(0), candle(0), candle(hour), candle(hour - 1)], hour).times, [0, hour]);
  equal(a.candleAxis([], hour), { times: [], end: hour, closing: false });
});

test("chart: lines keep the last value of a slot and their extremes", () => {
  const wide = a.candleAxis([candle(0), candle(10 * hour)], 10 * hour);
  equal(a.alignLine(wide, [[hour, 5], [2 * hour, 9], [3 * hour, 7], [12 * hour, 6], [13 * hour, 1], [14 * hour, NaN], [15 * hour, 4]]), [[0, 9], [10 * hour, 1]]);
});

test("chart: no fill is lost", () => {
  const marks = a.alignFills(axis, [[0, 1, 0, 0], [1, 0, 1, 1], [hour, 2, 3, 0], [4 * hour, 0, 0, 0], [9 * hour, 1, 0, 0]]);
  equal(marks, [
    { slot: 0, last: 0, buys: 1, sells: 1, ambiguous: 1 }, { slot: 1, last: 1, buys: 2, sells: 3, ambiguous: 0 },
    { slot: 3, last: 3, buys: 1, sells: 0, ambiguous: 0 },
  ]);
  equal(a.joined(marks, 2), [{ slot: 0, last: 1, buys: 3, sells: 4, ambiguous: 1 }, { slot: 3, last: 3, buys: 1, sells: 0, ambiguous: 0 }]);
  equal(marks[0]!.buys, 1, "the single ones stay");
  equal(a.alignFills(a.noAxis, [[0, 1, 0, 0]]), []);
});

test("chart: a live candle changes the last slot or opens one", () => {
  const before = [candle(0), candle(hour)];
  equal(a.addCandle(before, candle(hour, 105), hour).length, 2);
  equal(a.addCandle(before, candle(hour, 105), hour)[1]![4], 105);
  equal(a.addCandle(before, candle(2 * hour), hour).length, 3);
  equal(a.addCandle(before, candle(0), hour), before);
  equal(a.addCandle([[0, 100, 105, 95, 100, 9]], candle(hour, 107), 2 * hour), [[0, 100, 110, 90, 107, 9]]);
  equal(a.addCandle([], candle(0), hour).length, 1);
});

test("chart: what comes later goes behind", () => {
  equal(a.withTail([[1, 1, 1, 0], [2, 2, 2, 0]], [[2, 9, 9, 0], [3, 3, 3, 0]]).map((p) => p[1]), [1, 2, 3]);
  equal(a.withTail([], [[2, 9, 9, 0]]).length, 1);
});

test("chart: timeframes", () => {
  equal(["1m", "15m", "1h", "4h", "1d", "1w", "", "x"].map(a.timeframeMs), [60_000, 900_000, hour, 4 * hour, 24 * hour, 168 * hour, 0, 0]);
});
