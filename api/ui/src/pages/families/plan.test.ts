import { equal, test } from "../../testing.ts";
import type { Family, Trial } from "../shapes.ts";
import { best, pace, sizeOf, timeLeft, tried, varying } from "./plan.ts";

const trial = (index: number, fast: number, slow: number, sharpe: number | null): Trial => ({
  index, run_id: "t" + index, status: "completed", params: { fast, slow, same: 1 }, metrics: { sharpe_ratio: sharpe, total_return: null, max_drawdown: null, total_trades: null, win_rate: null },
});

test("only what differs is an axis, and a cell has the best of its trials", () => {
  const trials = [trial(0, 1, 2, 0.5), trial(1, 1, 2, 0.9), trial(2, 2, 3, -1), trial(3, 2, 2, null)];
  equal(varying(trials), ["fast", "slow"]);
  equal(best(trials, "fast", "slow", "sharpe_ratio"), [{ x: "1", y: "2", value: 0.9 }, { x: "2", y: "3", value: -1 }]);
});

test("what is tried is a range or a list", () => {
  equal(tried("5..20 step 5"), { type: "int", low: 5, high: 20, step: 5 });
  equal(tried("0.1..0.3 by 0.1"), { type: "float", low: 0.1, high: 0.3, step: 0.1 });
  equal(tried("-3..5"), { type: "int", low: -3, high: 5, step: 1 });
  equal(tried("1, 2.5, true, fast"), { type: "choice", values: [1, 2.5, true, "fast"] });
  for (const wrong of ["", "1,,2", "5..1", "1..9 step 0", "1..2..3"]) equal(tried(wrong), null, wrong);
  equal(["5..20 step 5", "0.1..0.3 by 0.1", "7, 8"].map((text) => sizeOf(tried(text)!)), [4, 3, 2]);
});

test("a search is asked for soon while trials end, later while none does, and not with a result", () => {
  const after = pace(), at = (done: number, result: unknown = null, result_damage = "") => after({ done, failed: 0, result, result_damage } as Family);
  equal([at(0), at(0), at(0), at(1), at(2)], [3000, 6000, 12_000, 3000, 3000]);
  equal([at(2), at(2), at(2), at(2), at(2)], [6000, 12_000, 24_000, 30_000, 30_000]);
  equal([at(4, null, "damaged"), at(4, null, "damaged"), at(4, {})], [3000, 6000, 0]);
});

test("the time that is left is said while it is known, and not after the end", () => {
  const progress = (eta_seconds: number | null) => ({ done: 3, total: 9, failed: 0, eta_seconds });
  equal(timeLeft({ progress: progress(75), result: null }), "About 01:15 left.");
  equal(timeLeft({ progress: progress(null), result: null }), "");
  equal(timeLeft({ progress: null, result: null }), "");
});
