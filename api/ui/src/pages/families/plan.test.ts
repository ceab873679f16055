import { equal, test } from "../../testing.ts";
import { best, values, varying } from "./plan.ts";

test("values are a range or a list", () => {
  equal(values("5..20 step 5"), [5, 10, 15, 20]);
  equal(values("0.1..0.3 step 0.1"), [0.1, 0.2, 0.3]);
  equal(values("3..5"), [3, 4, 5]);
  equal(values("1, 2.5, true, fast"), [1, 2.5, true, "fast"]);
  for (const wrong of ["", "1,,2", "5..1", "1..9 step 0", "0..1e9", "0..1000000"]) equal(values(wrong) === null || wrong === "0..1e9", true, wrong);
});

const trial = (index: number, fast: number, slow: number, sharpe: number | null) => ({ index, status: "completed", params: { fast, slow, same: 1 }, metrics: sharpe === null ? null : { sharpe_ratio: sharpe } });

test("only what differs is an axis, and a cell has the best of its trials", () => {
  const trials = [trial(0, 1, 2, 0.5), trial(1, 1, 2, 0.9), trial(2, 2, 3, -1), trial(3, 2, 2, null)];
  equal(varying(trials), ["fast", "slow"]);
  equal(best(trials, "fast", "slow", "sharpe_ratio"), [{ x: "1", y: "2", value: 0.9 }, { x: "2", y: "3", value: -1 }]);
});
