import { equal, test } from "../../testing.ts";
import type { Curve } from "../shapes.ts";
import { stitched } from "./optimised.ts";

const curve = (split: string, ...equity: number[]) => ({ split, items: equity.map((e, i) => ({ timestamp: split + i, equity: e, cash: e, position_value: 0, drawdown: 0, exposure: 0 })), holding: equity.map((_, i) => [i, 100 + i]), sampling: {} }) as unknown as Curve;

test("each window goes on where the one before has ended", () => {
  const whole = stitched([curve("a", 100, 110, 120), curve("b", 100, 90)], 100);
  equal(whole.items.map((p) => [p.timestamp, Math.round(p.equity * 1e6) / 1e6, Math.round(p.drawdown * 1e6) / 1e6]), [["a0", 100, 0], ["a1", 110, 0], ["a2", 120, 0], ["b0", 120, 0], ["b1", 108, 0.1]]);
  equal(whole.holding?.map(([, v]) => Math.round(v! * 1e6) / 1e6), [100, 101, 102, 102, 103.02]);
});
