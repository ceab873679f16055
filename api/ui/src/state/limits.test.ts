import { equal, test } from "../testing.ts";
import { isLimit, limits } from "./limits.ts";

const shown = (risk: Record<string, unknown>, quote = "USDT") => limits(risk, quote).map((l) => `${l.name}: ${l.text}`);

test("limits: each number with what it counts", () => {
  equal(shown({ "max-order-notional": 250, "max-order-fraction": 0.05, "price-collar": 0.07, "max-drawdown": 0.1, "max-candle-age": 2, burst: 1 }), [
    "Max drawdown: 10\u202f% of the peak", "Max order notional: 250 USDT per order", "Max order fraction: 5\u202f% of the start equity per order",
    "Price collar: 7\u202f% from the last close", "Max candle age: 2 timeframes", "Burst: 1 order per symbol",
  ]);
  equal(shown({ max_daily_loss: "0.03" }), ["Max daily loss: 3\u202f% of the equity at 00:00 UTC"]);
  equal(shown({ "max-order-notional": 1000 }, ""), ["Max order notional: 1\u202f000 of the quote currency per order"]);
});

test("limits: other names by their ending, else as they come", () => {
  equal(shown({ max_order_value: "12000.5", price_collar_bps: 500, "max-cash-fraction": 0.5 }), [
    "Max order value: 12\u202f000.5 USDT", "Price collar bps: 500 bps", "Max cash fraction: 50\u202f%",
  ]);
  equal(shown({ "max-order-notional": null, paper: "shadow", enforced: true, max_venues: 1, constructor: 3, windows: [1] }), [
    "Max order notional: none", "Paper: shadow", "Enforced: yes", "Max venues: 1", "Constructor: 3", "Windows: [1]",
  ]);
  equal(limits(null, "USDT"), []);
});

test("limits: those of several steps", () => {
  equal(shown({ max_rejects: { in_row: 3, in_10_minutes: 5 }, stale_candles: { reducing: 3, halted: 10 }, max_daily_loss_amount: 40 }), [
    "Max daily loss amount: 40 USDT", "Max rejects: 3 in a row, 5 in 10 minutes", "Stale candles: reducing after 3 timeframes, halted after 10 timeframes",
  ]);
});

test("limits: their codes among those of alarms", () => {
  for (const code of ["DAILY_LOSS_EXCEEDED", "STATE_REDUCING", "RISK_KILL", "ORDER_DUPLICATE", "PRICE_OUTSIDE_COLLAR", "CANDLE_STALE"]) equal(isLimit(code), true, code);
  for (const code of ["CANDLE_MISSING", "CANDLE_CORRECTED", "BALANCE_DRIFT", "WINDOW_CLIPPED", ""]) equal(isLimit(code), false, code);
});
