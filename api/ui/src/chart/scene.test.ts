import type { CandleTuple, EquityTuple } from "../api/types.ts";
import { equal, ok, test } from "../testing.ts";
import * as s from "./scene.ts";

const candle = (t: number): CandleTuple => [t, 10, 10 + t, 5, 8, 1];
const parts: s.Parts = {
  candles: [candle(0), candle(10), candle(20), candle(30)], step: 10, each: 1, now: Infinity, head: null,
  equity: [[10, 100, 50, 0], [20, 110, 50, 0], [40, 99, 40, 0.1]] as EquityTuple[],
  fills: [[0, 1, 0, 0], [25, 1, 2, 1]], counted: true, trades: [], left: "", every: 1, of: 0,
  lines: new Map([["fast", [[10, 8], [20, 9], [30, 7]]]]),
};

test("chart: a scene has everything on one axis", () => {
  const scene = s.sceneOf(parts);
  equal(scene.axis.times, [0, 10, 20, 30]);
  equal(scene.equity.map((p) => p[0]), [0, 10, 30]);
  equal(scene.lines.get("fast"), [[0, 8], [10, 9], [20, 7]]);
  equal(s.digestOf(scene), { fills: 4, markers: 3, ambiguous: 1, worst: 0.1, low: 5, high: 40 });
  equal(s.digestOf(s.emptyScene), { fills: 0, markers: 0, ambiguous: 0, worst: null, low: null, high: null });
});

test("chart: what is not a number is not drawn", () => {
  const scene = s.sceneOf({ ...parts, candles: [candle(0), [10, NaN, 1, 1, 1, 1], candle(20)], equity: [[10, null, 1, 0] as unknown as EquityTuple, [30, 5, 5, 0]] });
  equal(scene.candles.length, 2);
  equal(scene.equity.length, 1);
});

test("chart: what has not changed is taken over", () => {
  const scene = s.sceneOf(parts);
  const next = { ...parts, equity: [...parts.equity, [50, 90, 40, 0.2] as EquityTuple] };
  const after = s.sceneOf(next, { parts, scene });
  ok(after.candles === scene.candles && after.axis === scene.axis && after.marks === scene.marks, "candles and marks");
  ok(after.lines.get("fast") === scene.lines.get("fast") && after.equity !== scene.equity, "lines, but not equity");
  ok(s.sceneOf({ ...parts, candles: [...parts.candles] }, { parts, scene }).axis !== scene.axis, "other candles, other axis");
});

test("chart: lines of a wider view do not pile up at the ends", () => {
  const narrow = s.sceneOf({ ...parts, candles: [candle(10), candle(20)] });
  equal(narrow.lines.get("fast"), [[10, 9], [20, 7]]);
});

test("chart: a line breaks where there was nothing for long", () => {
  const axis = s.sceneOf({ ...parts, candles: Array.from({ length: 100 }, (_, i) => candle(i * 10)) }).axis;
  equal([...s.farApart([[0, 1], [10, 1], [20, 1], [500, 1], [510, 1]], axis)], [3]);
  equal([...s.farApart([[0, 1], [300, 1], [600, 1]], axis)], []);
  equal([...s.farApart([], axis)], []);
});

test("chart: the table merges exactly", () => {
  const scene = s.sceneOf(parts);
  equal(s.tableRows(scene, 0, 3, 200).length, 4);
  const [first, second] = s.tableRows(scene, 0, 9, 2);
  equal([first!.candle, first!.equity?.[1], first!.fills], [[0, 10, 20, 5, 8, 2], 110, 1]);
  equal([second!.time, second!.equity?.[1], second!.equity?.[3], second!.fills], [20, 99, 0.1, 3]);
  equal([first!.slots, second!.slots], [2, 2]);
  equal(s.tableRows(scene, 1.2, 2.1, 200).map((r) => r.time), [20]);
  const grouped = s.sceneOf({ ...parts, every: 4 });
  equal([grouped.marks.length, grouped.marks[0]!.last], [1, 2]);
  equal(s.tableRows(grouped, 0, 3, 200).map((r) => r.fills), [1, 0, 3, 0], "markers are grouped, counts are not");
  equal(s.tableRows(s.emptyScene, 0, 10, 200), []);
});

test("chart: readings say what held then and nothing beyond", () => {
  const scene = s.sceneOf(parts);
  equal(s.readingAt(scene, 2)!.equity?.[1], 110);
  equal([...s.readingAt(scene, 3)!.lines], []);
  equal(s.readingAt(scene, 2)!.mark?.sells, 2);
  equal(s.readingAt(scene, 9), null);
  equal(s.readingAt(s.sceneOf({ ...parts, every: 4 }), 1)!.mark?.buys, 2, "between the fills of a marker");
});

test("chart: a run has not seen what comes after it", () => {
  const at = (now: number, more: Partial<s.Parts> = {}) => s.sceneOf({ ...parts, now, ...more }).reach;
  equal([at(Infinity), at(40), at(99)].map((r) => [r.slot, r.priced]), [[3, 3], [3, 3], [3, 3]]);
  equal([at(0), at(-5), at(10), at(20), at(25)].map((r) => [r.slot, r.priced]), [[-1, -1], [-1, -1], [0, 0], [1, 1], [2, 1]]);
  equal(s.sceneOf({ ...parts, now: 0, candles: [] }).reach.slot, 2, "without candles all is the run's");

  const merged = { ...parts, now: 17, each: 5, equity: [[10, 100, 50, 0], [17, 110, 50, 0]] as EquityTuple[] };
  const blind = s.sceneOf(merged);
  equal([s.lastPrice(merged), s.seenAt(blind, 1)!.candle?.[0], s.seenAt(blind, 1)!.equity?.[1]], [8, 0, 110]);
  equal([s.readingAt(blind, 1)!.ahead, s.readingAt(blind, 0)!.ahead], [true, false]);
  equal(s.tableRows(blind, 0, 3, 200).map((r) => r.candle?.[4]), [8, undefined]);
  const head: CandleTuple = [10, 10, 12, 7, 11, 1], next = { ...merged, head };
  const scene = s.sceneOf(next, { parts: merged, scene: blind });
  equal([scene.candles[1], scene.reach.priced, s.lastPrice(next), scene.axis === blind.axis], [head, 1, 11, true]);
  const later = s.sceneOf({ ...next, now: 24 }, { parts: next, scene });
  equal([later.candles[1], later.reach], [candle(10), { slot: 2, priced: 1, head: null }], "it is whole once the run is past it");
  equal(s.seenAt(s.sceneOf({ ...parts, now: 0, equity: [] }), -1), null);
});
