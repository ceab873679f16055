// Generated from api/v1/openapi.json by tool -gen: do not edit.
import type { components } from "./api.ts";

/** One key of performance_metrics: what it means and what it counts. */
export interface MetricDefinition {
  name: keyof components["schemas"]["PerformanceMetrics"];
  description: string;
  unit: "ratio" | "fraction" | "seconds" | "count" | "quote" | "candles";
}

/** JSON Schema of the request's field execution. */
export const execution: { readonly [keyword: string]: unknown } = {
  "type": "object",
  "description": "How orders fill. Every field is optional.",
  "properties": {
    "profile": {
      "type": "string",
      "description": "Set of rules that the other defaults come from.",
      "enum": [
        "bar-v1",
        "compat:backtesting.py",
        "compat:backtrader",
        "compat:freqtrade"
      ],
      "default": "bar-v1"
    },
    "fee_maker": {
      "type": "number",
      "format": "double",
      "description": "Fee of a maker fill, a fraction of notional. Default: the fees of the exchange, else 0.001.",
      "minimum": -0.01,
      "maximum": 0.1
    },
    "fee_taker": {
      "type": "number",
      "format": "double",
      "description": "Fee of a taker fill, a fraction of notional. Default: the fees of the exchange, else 0.001.",
      "minimum": 0,
      "maximum": 0.1
    },
    "slippage_bps": {
      "type": "number",
      "format": "double",
      "description": "Distance of each taker fill from its reference price, in hundredths of a percent. Default 5; compat profiles 0.",
      "minimum": 0,
      "maximum": 1000,
      "default": 5
    },
    "protect_from": {
      "type": "string",
      "description": "Candle from which stop-loss and take-profit of an entry are live.",
      "enum": [
        "entry_candle",
        "next_candle"
      ],
      "default": "entry_candle"
    },
    "intrabar": {
      "type": "string",
      "description": "Which of several orders reached inside one candle comes first.",
      "enum": [
        "stop_first",
        "target_first",
        "ohlc_color"
      ],
      "default": "stop_first"
    },
    "resting_gap": {
      "type": "string",
      "description": "Price of a resting limit order that the open jumps over.",
      "enum": [
        "limit",
        "open"
      ],
      "default": "limit"
    },
    "limit_touch": {
      "type": "string",
      "description": "Whether touching its price fills a resting limit order.",
      "enum": [
        "touch",
        "through_tick"
      ],
      "default": "touch"
    },
    "quantity_step": {
      "type": "number",
      "format": "double",
      "description": "Quantities are rounded down to multiples of this.",
      "minimum": 1e-10,
      "maximum": 1000000,
      "default": 1e-08
    },
    "allow_short": {
      "type": "boolean",
      "description": "Whether short positions may be opened.",
      "default": false
    },
    "close_at_end": {
      "type": "boolean",
      "description": "Whether open positions are closed at the last candle.",
      "default": false
    }
  },
  "required": [],
  "additionalProperties": false
};

/** Every metric, in the order of the document. */
export const metrics: readonly MetricDefinition[] = [
  { name: "sharpe_ratio", description: "Annualised mean return over its standard deviation, risk-free rate 0, on the main sample.", unit: "ratio" },
  { name: "sharpe_ratio_candle", description: "The Sharpe ratio of candle returns.", unit: "ratio" },
  { name: "sortino_ratio", description: "Annualised mean return over the root mean square of the negative returns, taken over all returns.", unit: "ratio" },
  { name: "sortino_ratio_candle", description: "The Sortino ratio of candle returns.", unit: "ratio" },
  { name: "volatility", description: "Annualised standard deviation of the returns of the main sample.", unit: "fraction" },
  { name: "volatility_candle", description: "Annualised standard deviation of candle returns.", unit: "fraction" },
  { name: "sharpe_stderr", description: "Standard error of sharpe_ratio, allowing for skewed and fat-tailed returns.", unit: "ratio" },
  { name: "psr", description: "Probability that the true Sharpe ratio is above 0, given the returns of the main sample.", unit: "fraction" },
  { name: "max_drawdown", description: "Largest fall of equity below its running peak, over all step closes.", unit: "fraction" },
  { name: "max_drawdown_day", description: "The largest drawdown seen at UTC day ends only.", unit: "fraction" },
  { name: "max_drawdown_duration_seconds", description: "Longest time below a peak: from the peak's time to recovery, or to the end.", unit: "seconds" },
  { name: "total_return", description: "Last equity over initial cash, minus 1.", unit: "fraction" },
  { name: "cagr", description: "Growth over the main sample, compounded to a year.", unit: "fraction" },
  { name: "cagr_candle", description: "Growth over the candle sample, compounded to a year.", unit: "fraction" },
  { name: "calmar_ratio", description: "cagr over max_drawdown.", unit: "ratio" },
  { name: "calmar_ratio_candle", description: "cagr_candle over max_drawdown.", unit: "ratio" },
  { name: "buy_hold_return", description: "Mean over the symbols of last close over first close, minus 1.", unit: "fraction" },
  { name: "total_trades", description: "Closed round trips, flat to flat.", unit: "count" },
  { name: "win_rate", description: "Share of closed trades with a profit after fees.", unit: "fraction" },
  { name: "profit_factor", description: "Sum of the winning trades' profits over the sum of the losing trades' losses.", unit: "ratio" },
  { name: "expectancy", description: "Mean profit of a closed trade.", unit: "quote" },
  { name: "average_win", description: "Mean profit of the winning trades.", unit: "quote" },
  { name: "average_loss", description: "Mean result of the losing trades, a negative number.", unit: "quote" },
  { name: "best_trade", description: "Largest profit of a closed trade.", unit: "quote" },
  { name: "worst_trade", description: "Smallest profit of a closed trade, negative if it is a loss.", unit: "quote" },
  { name: "average_trade_return", description: "Mean over the closed trades of profit over opening notional.", unit: "fraction" },
  { name: "average_candles_held", description: "Mean number of candles from entry to exit; the same candle is 0.", unit: "candles" },
  { name: "sqn", description: "System quality number: mean over standard deviation of the trades' profits, times the root of their number.", unit: "ratio" },
  { name: "exposure", description: "Mean over the steps of the sum of positions' notional over equity.", unit: "ratio" },
  { name: "time_in_market", description: "Share of the steps with a position.", unit: "fraction" },
  { name: "turnover", description: "Notional of all fills over mean equity.", unit: "ratio" },
  { name: "fees_paid", description: "Sum of the fees of all fills.", unit: "quote" },
  { name: "slippage_paid", description: "Sum over all fills of the distance from the reference price, times quantity.", unit: "quote" },
  { name: "fill_count", description: "Executions.", unit: "count" },
  { name: "order_count", description: "Orders, rejected ones included.", unit: "count" },
  { name: "rejected_orders", description: "Orders that were rejected.", unit: "count" },
  { name: "rejected_intents", description: "Cancels and replaces of something unknown or closed.", unit: "count" },
  { name: "ambiguous_fills", description: "Fills that the candle alone can neither confirm nor rule out.", unit: "count" },
  { name: "open_trades", description: "Positions still open at the end; they are in no trade statistic.", unit: "count" },
];
