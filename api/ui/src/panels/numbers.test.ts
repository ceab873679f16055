import type { EquityTuple, Metrics, MetricsMeta } from "../api/types.ts";
import { idle, type Report } from "../state/store.ts";
import { equal, test } from "../testing.ts";
import { searchWords, tiles, undefinedReason, type Numbers } from "./numbers.ts";

const meta: MetricsMeta = {
  semantics: "metrics-v1", sample: "day", n_returns: 12, periods_per_year: 365, candle_periods_per_year: 8760, calendar: "24x7", ddof: 1, risk_free: 0,
  undefined: { sharpe_ratio: "zero_variance", sqn: "of_a_newer_service" },
};
const metrics: Metrics = { sharpe_ratio: 0, max_drawdown: 0.0123456789, total_trades: 3, win_rate: 0.5, total_return: -0.1, sqn: null };
const report: Report = { metrics, undefined: ["sharpe_ratio"], meta, assumptions: [], warnings: [] };
const done = { ...idle, status: "completed" as const, value: 900, pnl: -100, trade_count: 3 };
const byName = (now: Partial<Numbers>) =>
  Object.fromEntries(tiles({ status: done, report, curve: [], quote: "USDT", decimals: 2, dated: false, awaiting: false, steps: 1000, ...now }).map((t) => [t.name, t]));

test("an undefined metric is n/a with its reason, never 0", () => {
  equal(undefinedReason(report, "sharpe_ratio"), "returns do not vary");
  equal(undefinedReason(report, "sqn"), "of a newer service");
  equal(undefinedReason(report, "cagr"), "not known");
  equal(undefinedReason(report, "win_rate"), null);
  const { sharpe_ratio: t } = byName({});
  equal([t?.text, t?.value, t?.note], ["n/a", null, "returns do not vary"]);
});

test("tiles keep the exact values", () => {
  const t = byName({});
  equal(t.max_drawdown?.value, 0.0123456789);
  equal([t.pnl?.text, t.pnl?.note, t.pnl?.tone, t.pnl?.noteTone], ["\u2212100.00", "\u221210.00\u202f%", "down", "down"]);
  equal([t.value?.text, t.value?.unit], ["900.00", "USDT"]);
  equal(t.total_trades?.value, 3);
});

test("a run that goes on shows what is known so far", () => {
  const curve: EquityTuple[] = [[1, 100, 100, 0.02], [2, 99, 99, 0.4]];
  const status = { ...done, status: "running" as const, value: 1100, pnl: 100 }, none = { ...report, metrics: null, meta: null };
  const t = byName({ status, report: none, curve, quote: "" });
  equal([t.max_drawdown?.value, t.max_drawdown?.note], [0.4, ""]);
  equal([t.pnl?.text, t.pnl?.note], ["+100.00", "+10.00\u202f%"]);
  equal([t.sharpe_ratio?.text, t.sharpe_ratio?.note], ["–", "not yet"]);
  const polled = byName({ status, report: none, curve, dated: true });
  equal([polled.max_drawdown?.value, polled.max_drawdown?.text, polled.value?.value], [null, "–", 1100], "an old drawdown is none");
});

test("metrics that are still to come are not n/a", () => {
  const t = byName({ report: { ...report, metrics: null, meta: null }, awaiting: true });
  equal([t.sharpe_ratio, t.max_drawdown, t.win_rate].map((x) => x?.note), ["loading…", "loading…", "loading…"]);
  equal(byName({ awaiting: true }).win_rate?.text, "50.00\u202f%", "a snapshot may have had them");
});

test("small money keeps its digits", () => {
  const t = byName({ status: { ...done, value: 0.005326, pnl: -0.00001 }, quote: "BTC", decimals: 7 });
  equal([t.value?.text, t.pnl?.text], ["0.0053260", "\u22120.0000100"]);
});

const enough = { ...metrics, sharpe_ratio: 0.49, sharpe_stderr: 0.3778, total_trades: 30, buy_hold_return: 14.06, fees_paid: 63994 };
const sound = { ...report, metrics: enough, undefined: [], meta: { ...meta, n_returns: 2440, undefined: {} } };

test("the place in the search, with looks at the hold-out", () => {
  equal(searchWords({ n: 23, position: 18, holdout_looks: 0 }), "Trial 18 of 23 on these candles. Their hold-out was never looked at.");
  equal(searchWords({ n: 1, position: 1, holdout_looks: 1 }), "Trial 1 of 1 on these candles. Their hold-out was looked at once.");
  equal(searchWords({ n: 1, position: 1, holdout_looks: 2 }), "Trial 1 of 1 on these candles. Their hold-out was looked at 2 times.");
});

test("the ratio has its error", () => {
  equal(byName({ report: sound }).sharpe_ratio?.note, "± 0.38");
  equal(byName({ report: sound }).sharpe_ratio?.note, "± 0.38");
  equal(byName({ report: { ...sound, meta: { ...meta, n_returns: 120, undefined: {} } } }).sharpe_ratio?.note, "± 0.38, 120 days");
});

test("where the lab says insufficient there is no ratio", () => {
  const few = byName({ report: { ...sound, metrics: { ...enough, total_trades: 29 } } }).sharpe_ratio;
  equal([few?.text, few?.value, few?.note], ["n/a", null, "too few trades"]);
  equal(byName({ report: sound, steps: 249 }).sharpe_ratio?.note, "too few candles");
});

test("holding and fees stand beside the return", () => {
  const t = byName({ report: sound });
  equal([t.buy_hold_return?.text, t.fees_paid?.text], ["+1\u202f406.00\u202f%", "63\u202f994.00"]);
});

test("a failed or stopped run has no green number; a stopped paper run is what it is", () => {
  const won = { ...done, value: 1100, pnl: 100 }, gain = { ...sound, metrics: { ...enough, total_return: 0.1 } };
  const tones = (status: typeof won) => [byName({ status, report: gain }).pnl?.tone, byName({ status, report: gain }).pnl?.noteTone];
  equal(tones({ ...won, mode: "backtest" }), ["up", "up"]);
  equal(tones({ ...won, mode: "backtest", partial: true }), ["", ""]);
  equal(tones({ ...won, mode: "paper", partial: true }), ["up", "up"]);
  equal(tones({ ...won, status: "failed" as never, mode: "paper", partial: true }), ["", ""]);
  equal(byName({ status: { ...done, status: "failed" } }).pnl?.tone, "down", "a loss stays red");
});
