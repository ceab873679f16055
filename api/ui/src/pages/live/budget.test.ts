import { equal, test } from "../../testing.ts";
import { budgetsOf } from "./budget.ts";

const day = 86_400_000;

test("budgets are those of the limits that are set", () => {
  const risk = { max_daily_loss: 0.1, max_drawdown: 0, max_position_notional: null, max_gross_fraction: 1 };
  equal(budgetsOf(risk, [[day, 1000, 0, 0], [day + 1, 950, 0, 0.05]], [-200, 275], 1000), [
    { name: "Day's loss", used: 50, limit: 100, share: 0.5 },
    { name: "All positions", used: 475, limit: 950, share: 0.5 },
  ]);
});

test("drawdown counts from the peak, and without equity there is nothing to say", () => {
  equal(budgetsOf({ max_drawdown: 0.5 }, [[1, 750, 0, 0.25]], [], 900), [{ name: "Drawdown", used: 250, limit: 500, share: 0.5 }]);
  equal(budgetsOf({ max_drawdown: 0.5 }, [], [], 900), []);
  equal(budgetsOf(null, [[1, 750, 0, 0.25]], [], 900), []);
});
