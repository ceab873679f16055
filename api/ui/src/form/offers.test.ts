import type { Exchange, Strategy } from "../api/types.ts";
import { equal, test } from "../testing.ts";
import * as o from "./offers.ts";

const range = (start: string, end: string, held: string | null = null) => ({ start, end, candles: 1, holdout_start: held });
const exchange = (id: string, more: Partial<Exchange>): Exchange => ({
  id, name: id, aliases: [], default: false, status: "available", error: null, connector: "store", version: "1", certified: true, sandbox: false, modes: ["backtest"],
  trading_modes: [], symbols: null, timeframes: [], date_range: {}, order_types: [], fees: { maker: 0, taker: 0 }, requires_credentials: false, rate_limit_ms: 0,
  dead_man: "none", comment: "", config_schema: {}, ...more,
});
const sample = exchange("sample", {
  default: true, symbols: ["BTC/USDT", "ETH/USDT"], timeframes: ["1h", "1d"],
  date_range: { "BTC/USDT": { "1h": range("2017-08-17T04:00:00.000Z", "2024-04-21T15:00:00.000Z", "2022-12-19T00:00:00.000Z") }, "ETH/USDT": { "1d": range("2017-08-01T00:00:00.000Z", "2023-01-29T00:00:00.000Z") } },
});
const venue = exchange("venue", { connector: "native", modes: ["paper", "live"], timeframes: ["1m", "1h"] });
const broken = exchange("broken", { status: "unavailable", error: { code: "X", message: "does not start" }, modes: ["live"] });
const strategy = { name: "s", display_name: "S", status: "available", modes: ["backtest", "paper"], timeframes: null, min_symbols: 1, max_symbols: 1 } as unknown as Strategy;

test("offers: modes", () => {
  equal(o.modeReason("backtest", strategy, [sample]), "");
  equal(o.modeReason("paper", strategy, [sample]), "No exchange here offers paper.");
  equal(o.modeReason("paper", strategy, [sample, venue]), "");
  equal(o.modeReason("live", strategy, [sample, venue]), "S does not run live.");
  equal(o.modeReason("live", undefined, [sample, broken]), "No exchange here offers live.");
  equal(o.modeReason("live", undefined, null), "", "not known yet");
  equal(o.modeReasons(["backtest", "paper", "live"], { ...strategy, modes: ["backtest"] }, [sample]), ["S does not run paper or live."]);
  equal(o.modeReasons(["backtest", "paper", "live"], strategy, [sample]), ["S does not run live.", "No exchange here offers paper."]);
});

test("offers: timeframes that others make", () => {
  equal([["1h", "7h"], ["1h", "1d"], ["1d", "1h"], ["1h", "90m"], ["1d", "1M"], ["7h", "1M"], ["1M", "3M"], ["1M", "1d"], ["1h", "1h"], ["x", "1h"]].map(([a, b]) => o.divides(a ?? "", b ?? "")),
    [true, true, false, false, true, false, true, false, false, false]);
});

test("offers: exchanges", () => {
  equal(o.exchangeReason(sample, "backtest", ["BTC/USDT"], "4h"), "");
  equal(o.exchangeReason(sample, "backtest", ["BTC/USDT"], "1m"), "no 1m candles");
  equal(o.exchangeReason(sample, "backtest", ["BTC/USDT", "X/Y"], "1h"), "no X/Y");
  equal(o.exchangeReason(sample, "live", [], ""), "no live");
  equal(o.exchangeReason(venue, "live", ["X/Y"], "1m"), "", "the venue decides");
  equal(o.exchangeReason(venue, "live", ["X/Y"], "2h"), "no 2h candles");
  equal(o.exchangeReason(broken, "live", [], ""), "does not start");
  equal(o.automatic([venue, sample], "backtest", ["BTC/USDT"], "1d")?.id, "sample");
  equal(o.automatic([venue, sample], "paper", ["BTC/USDT"], "1h")?.id, "venue");
  equal(o.automatic([sample], "backtest", ["BTC/USDT", "ETH/USDT"], "1h"), undefined);
});

test("offers: symbols and timeframes", () => {
  equal(o.symbolOffers([sample], "backtest", "").map((s) => s.value), ["BTC/USDT", "ETH/USDT"]);
  equal(o.symbolOffers([sample], "backtest", "EUR")[0]?.reason, "all symbols of a run need the quote currency EUR");
  const list = o.timeframeOffers([sample], ["BTC/USDT"], "backtest", strategy);
  equal(list.map((t) => t.value), ["1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M"]);
  equal([list[0]?.note, list[2]?.note], ["", "made from 1h"]);
  equal(o.timeframeOffers([sample], ["ETH/USDT"], "backtest", strategy)[0], { value: "1h", note: "", reason: "no 1h candles of ETH/USDT" });
  const narrow = { ...strategy, timeframes: ["1d"] } as Strategy;
  equal(o.timeframeOffers([sample], ["BTC/USDT"], "backtest", narrow).filter((t) => !t.reason).map((t) => t.value), ["1d"]);
  equal(o.timeframeOffers([venue], ["X/Y"], "live", strategy).map((t) => t.value), ["1m", "1h"]);
});

test("offers: windows", () => {
  equal(o.windowOf(sample, ["BTC/USDT"], "1d"), { start: "2017-08-17T04:00:00.000Z", end: "2024-04-21T15:00:00.000Z", held: "2022-12-19T00:00:00.000Z" });
  equal(o.windowOf(sample, ["BTC/USDT", "ETH/USDT"], "1d")?.start, "2017-08-01T00:00:00.000Z");
  equal(o.windowOf(sample, ["BTC/USDT", "ETH/USDT"], "1d")?.held, "2022-12-19T00:00:00.000Z");
  equal(o.windowOf(sample, ["ETH/USDT"], "1d")?.held, null);
  equal(o.windowOf(venue, ["BTC/USDT"], "1d"), null);
  equal(o.windowOf(undefined, ["BTC/USDT"], "1d"), null);
  equal(o.firstChoice([venue, sample]), { symbol: "BTC/USDT", timeframe: "1h" });
  equal(o.firstChoice([venue]), null);
});
