import type { Exchange, Strategy } from "../api/types.ts";
import { equal, test } from "../testing.ts";
import { sampleOf } from "./sample.ts";

const strategy = (name: string, more = {}) => ({ name, status: "available", modes: ["backtest"], min_symbols: 1, ...more }) as unknown as Strategy;
const venue = (id: string, date_range: object, more = {}) => ({ id, status: "available", modes: ["backtest"], date_range, ...more }) as unknown as Exchange;
const bundled = venue("sample", { "ETH/USDT": { "1m": {} }, "BTC/USDT": { "1m": {}, "1h": {} } });
const chosen = (strategies: Strategy[], venues: Exchange[]) => {
  const s = sampleOf(strategies, venues);
  return typeof s === "string" ? s : [s.strategy.name, s.venue.id, s.symbol, s.timeframe].join(" ");
};

test("sample: the bundled strategy on the bundled candles", () => {
  equal(chosen([strategy("a"), strategy("sma_cross")], [venue("x", { "A/B": { "1d": {} } }, { default: true }), bundled]), "sma_cross sample BTC/USDT 1h");
});

test("sample: else the first that can be started", () => {
  const others = [strategy("gone", { status: "unavailable" }), strategy("pair", { min_symbols: 2 }), strategy("live_only", { modes: ["live"] }), strategy("b")];
  equal(chosen(others, [venue("x", {}), venue("y", { "A/B": { "1d": {}, "5m": {} } })]), "b y A/B 5m");
  equal(chosen([strategy("pair", { min_symbols: 2 })], [bundled]), "pair sample BTC/USDT 1h");
});

test("sample: nothing to run", () => {
  equal(chosen([], [bundled]), "No strategy here can be started.");
  equal(chosen([strategy("a")], [venue("x", {})]), "No exchange here has candles.");
});
