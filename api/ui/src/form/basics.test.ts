import type { Exchange, Strategy } from "../api/types.ts";
import { equal, test } from "../testing.ts";
import { basicFindings, takes } from "./basics.ts";
import type { Basics } from "./basics.ts";

const sample = {
  id: "sample", name: "Sample", aliases: [], status: "available", connector: "store", modes: ["backtest"], symbols: ["BTC/USDT"], timeframes: ["1h"],
  date_range: { "BTC/USDT": { "1h": { start: "2017-08-17T04:00:00.000Z", end: "2024-04-21T15:00:00.000Z", candles: 9 } } },
} as unknown as Exchange;
const strategy = { name: "s", display_name: "S", status: "available", modes: ["backtest"], timeframes: null, min_symbols: 1, max_symbols: 1 } as unknown as Strategy;
const good: Basics = {
  mode: "backtest", strategyName: "s", strategy, symbols: ["BTC/USDT"], timeframe: "1h", exchangeId: "", exchange: undefined, exchanges: [sample], offering: [sample],
  range: { start: "2017-08-17T04:00:00.000Z", end: "2024-04-21T15:00:00.000Z", held: null }, start: "", end: "", cash: "10000",
};
const found = (change: Partial<Basics>) => basicFindings({ ...good, ...change }).map((f) => [f.pointer, f.message, f.certain]);

test("basics: a good form", () => {
  equal(found({}), []);
  equal(found({ cash: "", start: "2020-01-01", end: "2021-01-01 12:00", exchangeId: "sample", exchange: sample }), []);
});

test("basics: what the service would refuse", () => {
  equal(found({ strategyName: "", strategy: undefined }), [["/strategy_name", "choose one", true]]);
  equal(found({ strategyName: "gone", strategy: undefined }), [["/strategy_name", "is not among the strategies of this service: gone", true]]);
  equal(found({ strategy: { ...strategy, status: "unavailable", error: { code: "X", message: "crashed" } } }), [["/strategy_name", "is unavailable: crashed", true]]);
  equal(found({ symbols: [] })[0], ["/symbols", "add at least one, such as BTC/USDT", true]);
  equal(found({ symbols: ["BTCUSDT"] })[0], ["/symbols", "is no symbol: BTCUSDT; write BASE/QUOTE, such as BTC/USDT", true]);
  equal(found({ symbols: ["BTC/USDT", "ETH/USDT"] })[0], ["/symbols", "S takes 1 symbol, not 2", true]);
  equal(found({ symbols: ["BTC/USDT", "ETH/EUR"] })[0], ["/symbols", "all symbols of a run need the same quote currency, not USDT and EUR", true]);
  equal(found({ timeframe: "1 hour" }), [["/timeframe", "write a count and one of s, m, h, d, w, M, such as 1h", true]]);
  equal(found({ strategy: { ...strategy, timeframes: ["1d"] } }), [["/timeframe", "S works on 1d only", true]]);
  equal(found({ cash: "0" }), [["/initial_cash", "must be more than 0", true]]);
  equal(found({ start: "soon" }), [["/start_date", "is no time: write 2024-01-31 or 2024-01-31 12:00 (UTC)", true]]);
  equal(found({ start: "2020-01-01", end: "2020-01-01" }), [["/end_date", "must be after From", true]]);
  equal(found({ exchangeId: "x" }), [["/exchange", "is not among the exchanges of this service: x", true]]);
  equal(found({ mode: "live" }), [["/mode", "S does not run live.", true], ["/symbols", "Sample has no live", false], ["/exchange", "choose one: live needs an exchange", true]]);
});

test("basics: what only seems wrong does not stand in the way", () => {
  equal(found({ symbols: ["X/Y"] }), [["/symbols", "Sample has no X/Y", false]]);
  equal(found({ timeframe: "1m" }), [["/timeframe", "there are no 1m candles of BTC/USDT", false]]);
  equal(found({ start: "2000-01-01", end: "2030-01-01" }), [
    ["/start_date", "is before the first candle: the run begins 2017-08-17 04:00", false], ["/end_date", "is after the last candle: the run ends 2024-04-21 15:00", false],
  ]);
});

test("basics: how many symbols", () => {
  equal([takes(strategy), takes({ ...strategy, min_symbols: 2, max_symbols: 9 } as Strategy)], ["1 symbol", "2 to 9 symbols"]);
});
