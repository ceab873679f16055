// A metric's value as text with its unit.
import type { MetricsMeta } from "../api/types.ts";
import type { MetricDefinition } from "../gen/contract.ts";
import * as f from "../state/format.ts";

type Value = number | null | undefined;

// Gains and losses carry their sign, also when positive; shares and costs do not.
const signed: readonly string[] = [
  "total_return", "cagr", "cagr_candle", "buy_hold_return", "average_trade_return", "expectancy", "average_win", "average_loss", "best_trade", "worst_trade",
];

export function metricText(metric: MetricDefinition, value: Value, quote: string, decimals = 2): string {
  if (value === null || value === undefined) return f.missing;
  const plus = signed.includes(metric.name);
  switch (metric.unit) {
    case "fraction":
      return plus ? f.signedPercent(value) : f.percent(value);
    case "quote":
      return `${plus ? f.signedMoney(value, decimals) : f.money(value, decimals)} ${quote}`.trim();
    case "seconds":
      return f.duration(value);
    case "candles":
      return `${f.ratio(value, 1)} candles`;
    case "count":
      return f.count(value);
    default:
      return f.ratio(value, 3);
  }
}

/** The headings, by the first metric below each; the list is in this order. */
export const headings: Record<string, string> = {
  sharpe_ratio: "Return for its risk", max_drawdown: "Drawdown", total_return: "Growth", total_trades: "Trades", exposure: "Activity and costs",
};

const acronyms: Record<string, string> = { psr: "PSR", cagr: "CAGR", cagr_candle: "CAGR candle", sqn: "SQN", sharpe_stderr: "Sharpe standard error" };

/** The name without its unit, which stands at the value. */
export function metricName(name: string): string {
  return acronyms[name] ?? f.words(name.replace(/_seconds$/, ""));
}

const proper = /^(Sharpe|Sortino|Calmar|[A-Z]{2})/;

/** A description with the names of metrics as they are shown, not as keys. */
export function metricWords(description: string, names: readonly string[]): string {
  const shown = (name: string) => metricName(name).replace(/^./, (c) => (proper.test(metricName(name)) ? c : c.toLowerCase()));
  return description.replace(/[a-z_]{3,}/g, (word) => (names.includes(word) && (word.includes("_") || word in acronyms) ? shown(word) : word));
}

export function metricTone(name: string, value: Value): "up" | "down" | "" {
  return signed.includes(name) ? f.tone(value) : "";
}

/** How the ratios were computed, as a sentence. */
export function metaWords(meta: MetricsMeta | null): string {
  if (!meta) return "";
  const sample = meta.sample === "day" ? "daily" : "candle";
  const calendar = meta.calendar === "24x7" ? "all days of the week" : "weekdays";
  return [
    `${f.count(meta.n_returns)} ${sample} returns`,
    `${f.exact(meta.periods_per_year)} periods per year (${f.exact(meta.candle_periods_per_year)} of candles)`,
    calendar,
    `risk-free rate ${f.percent(meta.risk_free)}`,
    `${meta.ddof} degree${meta.ddof === 1 ? "" : "s"} of freedom taken off in deviations`,
    meta.semantics,
  ].join(", ") + ".";
}
