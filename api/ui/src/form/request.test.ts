import { equal, test } from "../testing.ts";
import { request } from "./request.ts";

const filled = {
  mode: "backtest" as const, strategy: "s", symbols: ["A/B"], timeframe: " 1h ", exchange: "", start: "", end: "", cash: "", params: { fast: 3 }, execution: {}, config: { apiKey: "k" },
};
const common = { strategy_name: "s", strategy_params: { fast: 3 }, symbols: ["A/B"], timeframe: "1h" };

test("request: a backtest", () => {
  equal(request(filled), { mode: "backtest", body: { ...common, start_date: null, end_date: null } });
  equal(request({ ...filled, exchange: "x", start: "2020-01-01 04:00", end: "2021-01-01", cash: "1e4", execution: { slippage_bps: 0 } }).body, {
    ...common, exchange: "x", start_date: "2020-01-01T04:00Z", end_date: "2021-01-01", initial_cash: 10000, execution: { slippage_bps: 0 },
  });
});

test("request: paper and live", () => {
  const rich = { ...filled, exchange: "x", cash: "5", execution: { allow_short: true }, start: "2020-01-01" };
  equal(request({ ...rich, mode: "paper", config: {} }).body, { ...common, exchange: "x", mode: "paper", initial_cash: 5, execution: { allow_short: true } });
  equal(request({ ...rich, mode: "live" }).body, { ...common, exchange: "x", mode: "live", exchange_config: { apiKey: "k" } });
});
