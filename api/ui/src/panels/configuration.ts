// The run's configuration as rows, the values that equal their default marked.
import type { Exchange, RunConfig, Strategy } from "../api/types.ts";
import { exact, time, words } from "../state/format.ts";

export interface Row {
  name: string;
  text: string;
  /** Whether leaving the value out of the request gives the same. */
  standard: boolean;
}

/** What the request may leave out, besides what depends on strategy and exchange. */
const cashDefault = 10000;

export function requestRows(c: RunConfig, strategies: Strategy[] | null, exchanges: Exchange[] | null): Row[] {
  const defaults = strategies?.find((s) => s.name === c.strategy_name)?.default_params as Record<string, unknown> | undefined;
  const exchange = exchanges?.find((e) => e.id === c.exchange);
  return [
    row("Strategy", c.strategy_name),
    ...Object.entries(c.strategy_params).map(([key, value]) => row(words(key), value, same(value, defaults?.[key]))),
    row("Mode", c.mode),
    row("Exchange", c.exchange, exchange?.default === true),
    row("Symbols", c.symbols.join(", ")),
    row("Timeframe", c.timeframe),
    row("From", c.start_date === null ? "first candle" : time(c.start_date) + " UTC", c.start_date === null),
    row("To", c.end_date === null ? "after the last candle" : time(c.end_date) + " UTC", c.end_date === null),
    row("Initial cash", c.initial_cash, c.initial_cash === cashDefault),
  ];
}

export function executionRows(c: RunConfig, schema: { readonly [keyword: string]: unknown }, exchanges: Exchange[] | null): Row[] {
  const properties = schema.properties as Record<string, { default?: unknown }> | undefined;
  const fees = exchanges?.find((e) => e.id === c.exchange)?.fees;
  // The other profiles bring defaults of their own, which only the service knows.
  const known = c.execution.profile === "bar-v1";
  return Object.entries(c.execution).map(([key, value]) => {
    const standard = key === "fee_maker" ? fees?.maker ?? 0.001 : key === "fee_taker" ? fees?.taker ?? 0.001 : properties?.[key]?.default;
    return row(words(key), value, known && same(value, standard));
  });
}

export function riskRows(c: RunConfig): Row[] {
  return Object.entries(c.risk ?? {}).map(([key, value]) => row(words(key.replaceAll("-", "_")), value));
}

function row(name: string, value: unknown, standard = false): Row {
  return { name, text: text(value), standard };
}

function text(value: unknown): string {
  if (typeof value === "number") return exact(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

const same = (a: unknown, b: unknown): boolean => b !== undefined && JSON.stringify(a) === JSON.stringify(b);
