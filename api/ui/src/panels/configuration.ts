// The run's configuration as rows, the values that equal their default marked.
import type { Exchange, RunConfig, Strategy } from "../api/types.ts";
import { exact, time, words } from "../state/format.ts";
import { limits } from "../state/limits.ts";
import { quoteOf } from "../state/store.ts";
import { masked } from "./secrets.ts";

export interface Row {
  /** As the API names it. */
  key: string;
  name: string;
  text: string;
  /** Whether leaving the value out of the request gives the same. */
  standard: boolean;
}

/** What the request may leave out, besides what depends on strategy and exchange. */
const cashDefault = 10000;
/** As many significant digits as a number can have. */
const everyDigit = 17;

export function requestRows(c: RunConfig, exchanges: Exchange[] | null): Row[] {
  const exchange = exchanges?.find((e) => e.id === c.exchange);
  const cash = `${exact(c.initial_cash, everyDigit)} ${quoteOf(c.symbols)}`;
  return [
    row("strategy_name", "Strategy", c.strategy_name),
    row("mode", "Mode", c.mode),
    row("exchange", "Exchange", c.exchange, exchange?.default === true),
    row("symbols", "Symbols", c.symbols.join(", ")),
    row("timeframe", "Timeframe", c.timeframe),
    // Paper and live run from their start until they are stopped.
    ...(c.mode === "backtest" ? [
      row("start_date", "From", c.start_date === null ? "first candle" : time(c.start_date) + " UTC", c.start_date === null),
      row("end_date", "To", c.end_date === null ? "after the last candle" : time(c.end_date) + " UTC", c.end_date === null),
    ] : []),
    row("initial_cash", "Initial cash", cash, c.initial_cash === cashDefault),
  ];
}

/** The strategy's parameters as JSON has them, without their secrets. */
export function parameterRows(c: RunConfig, strategies: Strategy[] | null): Row[] {
  const strategy = strategies?.find((s) => s.name === c.strategy_name);
  const defaults = strategy?.default_params as Record<string, unknown> | undefined;
  return Object.entries(masked(c.strategy_params, strategy?.params_schema))
    .map(([key, value]) => row(key, words(key), value, same(c.strategy_params[key], defaults?.[key])));
}

export function executionRows(c: RunConfig, schema: { readonly [keyword: string]: unknown }, exchanges: Exchange[] | null): Row[] {
  const properties = schema.properties as Record<string, { default?: unknown }> | undefined;
  const fees = exchanges?.find((e) => e.id === c.exchange)?.fees;
  // The other profiles bring defaults of their own, which only the service knows.
  const known = c.execution.profile === "bar-v1";
  return Object.entries(c.execution).map(([key, value]) => {
    const standard = key === "fee_maker" ? fees?.maker ?? 0.001 : key === "fee_taker" ? fees?.taker ?? 0.001 : properties?.[key]?.default;
    const name = words(key.replace(/_bps$/, ""));
    return row(key, name, key.startsWith("fee_") || key.endsWith("_bps") ? share(key, value) : value, known && same(value, standard));
  });
}

export function riskRows(c: RunConfig): Row[] {
  return limits(c.risk, quoteOf(c.symbols)).map((limit) => ({ ...limit, standard: false }));
}

function row(key: string, name: string, value: unknown, standard = false): Row {
  return { key, name, text: typeof value === "string" ? value : JSON.stringify(value), standard };
}

/** A fee is a fraction of the notional, slippage hundredths of a percent. */
function share(key: string, value: unknown): unknown {
  if (typeof value !== "number") return value;
  return key.endsWith("_bps") ? `${exact(value)} bps` : `${exact(value * 100)}\u202f%`;
}

const same = (a: unknown, b: unknown): boolean => b !== undefined && JSON.stringify(a) === JSON.stringify(b);
