import { equal, ok, test } from "../testing.ts";
import { extent, linear, logarithmic } from "./scales.ts";

test("an extent is of finite values, and never empty", () => {
  equal(extent([3, NaN, -1, Infinity]), [-1, 3]);
  equal(extent([]), [0, 1]);
  equal(extent([2]), [1, 3]);
  equal(extent([0, 0]), [-0.5, 0.5]);
});

test("a linear scale has round ticks inside", () => {
  const s = linear([0.12, 0.98], [100, 0]);
  equal(s.ticks, [0.2, 0.4, 0.6, 0.8]);
  equal(s.at(0.12), 100);
  equal(s.at(0.98), 0);
});

test("a logarithmic scale has the same distance for the same factor", () => {
  const s = logarithmic([10, 1000], [0, 200]);
  equal(s.ticks, [10, 20, 50, 100, 200, 500, 1000]);
  ok(Math.abs(s.at(100) - 100) < 1e-9, "the middle");
});
