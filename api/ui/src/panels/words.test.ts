import type { Health, LogLine, RunConfig, Strategy } from "../api/types.ts";
import { metrics } from "../gen/contract.ts";
import { idle } from "../state/store.ts";
import { equal, ok, test } from "../testing.ts";
import { adviceFor, docsLink } from "./advice.ts";
import { executionRows, parameterRows, requestRows } from "./configuration.ts";
import { bytes, chips } from "./health.ts";
import { clock, filtered } from "./lines.ts";
import { headings, metaWords, metricName, metricText, metricWords } from "./metric.ts";
import { changeWords, streamWords } from "./narrate.ts";
import { failureReport, lineText, tail } from "./report.ts";
import { masked } from "./secrets.ts";
import { ageWords, backtestWords, candleWords, endWords, journalWords, stopEffect, took } from "./sentences.ts";

const running = { ...idle, run_id: "svc_a", status: "running" as const, mode: "backtest" as const, phase: "trading" as const, eta_seconds: 2 };
const config = {
  strategy_name: "sma_cross", strategy_params: { fast: 10, slow: 31 }, symbols: ["BTC/USDT"], timeframe: "1h", start_date: null, end_date: "2024-01-01T00:00:00.000Z",
  initial_cash: 10000, exchange: "sample", mode: "backtest", window: { start: "2017-08-17T04:00:00.000Z", end: "2024-01-01T00:00:00.000Z", candles: 1000 },
  execution: { profile: "bar-v1", fee_maker: 0.002, fee_taker: 0.001, slippage_bps: 5 }, strategy: { version: "1", sha256: "ab" },
  engine: { version: "1", commit: "c" }, data_hash: "d", risk: null, exchange_config: { key: "canary" },
} as unknown as RunConfig;

test("metrics: headings stand above known ones, and no description shows a key", () => {
  const names = metrics.map((m) => m.name);
  equal(Object.keys(headings).filter((name) => !(names as string[]).includes(name)), []);
  equal(metrics.map((m) => metricWords(m.description, names)).filter((text) => names.some((name) => name.includes("_") && text.includes(name))), []);
  equal(metricWords("Standard error of sharpe_ratio, cagr over max_drawdown.", names), "Standard error of Sharpe ratio, CAGR over max drawdown.");
});

test("chips: skipped checks have none, others words", () => {
  const at = "2026-11-20T12:00:00.000Z";
  const health = {
    checks: {
      runner: { status: "pass", message: "idle", checked_at: at },
      exchange_connectivity: { status: "fail", message: "gone", checked_at: at, latency_ms: 12 },
      plugins: { status: "warn", message: "1 of 4 unavailable", checked_at: at, available: 3, unavailable: 1 },
      disk: { status: "pass", message: "", checked_at: at, free_bytes: 812345678 },
      clock: { status: "skip", message: "", checked_at: at },
    },
  } as unknown as Health;
  const list = chips(health);
  equal(list.map((c) => c.text), ["runner", "venue failing", "plugins 3/4", "disk"]);
  equal(list[3]?.message, "Disk: ok");
  equal(list[3]?.facts[0], ["Free", "775\u202fMiB"]);
  equal(list[1]?.facts[0], ["Latency", "12\u202fms"]);
  equal(chips(null), []);
  equal([bytes(0), bytes(1536), bytes(71195148288)], ["0\u202fB", "1.5\u202fKiB", "66\u202fGiB"]);
});

test("progress and outcome in words", () => {
  const now = { ...running, progress: 0.649, simulated_time: "2024-03-05T14:00:00.000Z", candles_per_second: 184000.4 };
  equal(backtestWords(now), ["64\u202f%", "2024-03-05 14:00 UTC", "184\u202f000 candles/s", "00:02 left"]);
  const end = { ...running, status: "completed" as const, phase: "" as const, stop_reason: "stopped" as const, partial: true, progress: 0.5, runtime_seconds: 83 };
  equal(endWords(end, config), ["stopped", "sma_cross on BTC/USDT 1h", "2017-08-17 04:00 to 2024-01-01 00:00 UTC, 1\u202f000 candles", "50.0\u202f% done", "took 01:23"]);
  ok(endWords(end, { ...config, strategy_name: "\u05d0" }).includes("\u2068\u05d0\u2069 on BTC/USDT 1h"), "a foreign name keeps its direction to itself");
  equal([took(0.04), took(75)], ["0.04 s", "01:15"]);
  equal(ageWords(Date.parse("2026-01-01T00:00:00Z"), Date.parse("2026-01-01T00:02:05Z")), "02:05 ago");
  ok(stopEffect("flatten", true).includes("closed") && stopEffect("cancel", false).includes("simulated"), "the stop's effect is named");
  for (const unknown of ["", "later"]) ok(stopEffect(unknown, true).includes("not known"), "no policy is made up");
});

test("the age of the newest candle, by the clock that it belongs to", () => {
  const run = { ...running, simulated_time: "2025-01-01T05:00:00.000Z" }, now = Date.parse("2025-01-01T05:00:07Z");
  equal(candleWords({ ...run, simulated_time: null }, false, null, now), "no candle yet");
  equal(candleWords(run, false, null, now), "last candle closed 2025-01-01 05:00 UTC, 7 s ago");
  equal(candleWords(run, true, now - 2000, now), "last candle closed 2025-01-01 05:00 UTC by the venue's clock, came 2 s ago");
  equal(candleWords(run, true, null, now), "last candle closed 2025-01-01 05:00 UTC by the venue's clock");
});

test("what a journal knows of an interrupted run", () => {
  equal(journalWords({ open_orders: ["as1", "as2"], unknown_orders: [], positions: { "BTC/USDT": "0.15" }, lease: { reason: "host gone", cancelled: ["as3"] } }), [
    ["Open orders", "as1, as2"], ["Orders that the venue may or may not have", "none"], ["Positions", "BTC/USDT 0.15"], ["Lease", 'reason host gone, cancelled ["as3"]'],
  ]);
  equal(journalWords({ open_orders: 1, note: null, lease: {} }), [["Open orders", "1"], ["Note", "none"], ["Lease", "none"]]);
});

test("what is announced", () => {
  equal(changeWords(idle, running, "USDT"), "Backtest running");
  equal(changeWords(running, { ...running, progress: 0.5 }, ""), "");
  equal(changeWords(running, { ...running, status: "completed", stop_reason: "finished", pnl: 5 }, "USDT"), "Backtest completed: finished. PnL +5.00 USDT");
  equal(changeWords(running, { ...running, status: "failed" }, ""), "");
  ok(changeWords(running, { ...running, phase: "halted" }, "").startsWith("halted"), "a halt is said");
  equal(streamWords("connecting", "live"), "");
  equal(streamWords("down", "live"), "Live updates again");
});

test("advice for every code, also an unknown one", () => {
  equal(docsLink("PLUGIN_CRASHED"), "/docs/errors#run-plugin-crashed");
  ok(adviceFor("RUN_INTERRUPTED").next !== "" && adviceFor("OF_TOMORROW").next !== "", "advice");
});

const secret = { type: "string", format: "password" };
const strategy = {
  name: "sma_cross", default_params: { fast: 10, slow: 30 },
  params_schema: { type: "object", properties: { fast: { type: "integer" }, key: secret, nested: { type: "object", properties: { key: secret } } } },
} as unknown as Strategy;

test("what the schema calls secret is hidden", () => {
  const params = { fast: 7, key: "k", nested: { key: "k" }, other: "o" };
  equal(masked(params, strategy.params_schema), { fast: 7, key: "[hidden]", nested: "[hidden]", other: "o" });
  equal(masked({ fast: 7, other: "o" }, undefined), { fast: "[hidden]", other: "[hidden]" }, "nothing is known of a strategy that is gone");
  equal(masked({ key: "k" }, { $defs: { s: secret }, properties: { key: { $ref: "#/$defs/s" } } }), { key: "[hidden]" });
});

test("the report has the facts and no secret", () => {
  const line: LogLine = { time: null, level: "warn", source: "host", message: "low", fields: { a: "1" } };
  const details = { code: "PLUGIN_CRASHED" as const, phase: "trading", candle_time: null, plugin_exit_code: 3, log_tail: ["last words"], data: {} };
  const text = failureReport({ ...running, status: "failed", error: "gone", error_details: details }, { ...config, strategy_params: { key: "passphrase", fast: 7 } }, [strategy], null, [line]);
  for (const want of ["PLUGIN_CRASHED", "last words", "warn host low a=1", "sma_cross"]) ok(text.includes(want), want);
  ok(!text.includes("canary") && !text.includes("passphrase"), "no exchange_config, no secret parameter");
  equal(JSON.parse(text).config.strategy_params, { key: "[hidden]", fast: 7 });
  equal(tail(details, [line]), ["last words"]);
  equal(tail({ ...details, log_tail: [] }, [line]), [lineText(line)]);
  equal(tail({ ...details, log_tail: Array.from({ length: 60 }, (_, i) => String(i)) }, []).length, 50);
});

test("defaults are marked", () => {
  const exchange = { id: "sample", default: true, fees: { maker: 0.001, taker: 0.001 } };
  const standard = [...requestRows(config, [exchange] as never), ...parameterRows(config, [strategy])].filter((r) => r.standard).map((r) => r.name);
  equal(standard, ["Exchange", "From", "Initial cash", "Fast"]);
  const schema = { properties: { slippage_bps: { default: 5 }, profile: { default: "bar-v1" } } };
  equal(executionRows(config, schema, [exchange] as never).map((r) => r.standard), [true, false, true, true]);
  equal(executionRows(config, schema, [exchange] as never).map((r) => `${r.key} ${r.name} ${r.text}`).slice(1),
    ["fee_maker Fee maker 0.2\u202f%", "fee_taker Fee taker 0.1\u202f%", "slippage_bps Slippage 5 bps"]);
  const compat = { ...config, execution: { ...config.execution, profile: "compat:backtrader" } } as RunConfig;
  ok(executionRows(compat, schema, null).every((r) => !r.standard), "other profiles have other defaults");
});

test("values are as exact as they were sent", () => {
  const odd = { ...config, initial_cash: 123456789012.34, strategy_params: { seed: 9007199254740881, Strategy: "x", tiny: 1e-7 } };
  equal(requestRows(odd, null).at(-1)?.text, "123\u202f456\u202f789\u202f012.34 USDT");
  equal(parameterRows(odd, [strategy]).map((r) => [r.key, r.text]), [["seed", "9007199254740881"], ["Strategy", "x"], ["tiny", "1e-7"]]);
});

test("log lines by level and source", () => {
  const line = (level: string, source: string): LogLine => ({ time: null, level, source, message: "" });
  const all = [line("debug", "host"), line("info", "plugin"), line("error", "host"), line("odd", "plugin")];
  equal(filtered(all, { level: "info", source: "" }).length, 3);
  equal(filtered(all, { level: "error", source: "host" }).length, 1);
  equal(filtered(Array.from({ length: 1200 }, () => line("info", "host")), { level: "trace", source: "" }).length, 1000);
  equal(clock("2026-11-20T12:00:00.123Z"), "2026-11-20 12:00:00.123");
});

test("metrics carry sign and unit", () => {
  const shown = (name: string, value: number | null) => metricText(metrics.find((m) => m.name === name)!, value, "USDT");
  equal(shown("total_return", 0.5), "+50.00\u202f%");
  equal(shown("max_drawdown", 0.5), "50.00\u202f%");
  equal(shown("expectancy", -3), "\u22123.00 USDT");
  equal(shown("fees_paid", 3), "3.00 USDT");
  equal(shown("max_drawdown_duration_seconds", 90061), "1 d 1 h");
  equal(shown("average_candles_held", 2.5), "2.5 candles");
  equal(shown("sqn", null), "n/a");
  equal([metricName("max_drawdown_duration_seconds"), metricName("psr")], ["Max drawdown duration", "PSR"]);
  equal(metaWords(null), "");
});
