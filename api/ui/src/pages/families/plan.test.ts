import { equal, test } from "../../testing.ts";
import type { Trial } from "../shapes.ts";
import { best, varying } from "./plan.ts";

const trial = (index: number, fast: number, slow: number, sharpe: number | null): Trial => ({
  index, run_id: "t" + index, status: "completed", params: { fast, slow, same: 1 }, metrics: { sharpe_ratio: sharpe, total_return: null, max_drawdown: null, total_trades: null, win_rate: null },
});

test("only what differs is an axis, and a cell has the best of its trials", () => {
  const trials = [trial(0, 1, 2, 0.5), trial(1, 1, 2, 0.9), trial(2, 2, 3, -1), trial(3, 2, 2, null)];
  equal(varying(trials), ["fast", "slow"]);
  equal(best(trials, "fast", "slow", "sharpe_ratio"), [{ x: "1", y: "2", value: 0.9 }, { x: "2", y: "3", value: -1 }]);
});
