// The run that a newcomer is offered: the bundled strategy on the bundled candles where
// both are here, else the first ones that can be started.
import type { Exchange, Strategy } from "../api/types.ts";
import { seconds } from "./offers.ts";

export interface Sample {
  strategy: Strategy;
  venue: Exchange;
  symbol: string;
  timeframe: string;
}

/** The sample, or why there is none. */
export function sampleOf(strategies: readonly Strategy[], exchanges: readonly Exchange[]): Sample | string {
  const usable = strategies.filter((s) => s.status === "available" && s.modes.includes("backtest"));
  const venues = exchanges.filter((e) => e.status === "available" && e.modes.includes("backtest") && Object.keys(e.date_range).length > 0);
  const strategy = usable.find((s) => s.name === "sma_cross") ?? usable.find((s) => s.min_symbols <= 1) ?? usable[0];
  const venue = venues.find((e) => e.id === "sample") ?? venues.find((e) => e.default) ?? venues[0];
  if (!strategy) return "No strategy here can be started.";
  if (!venue) return "No exchange here has candles.";
  const symbols = Object.keys(venue.date_range);
  const symbol = symbols.find((s) => s === "BTC/USDT") ?? symbols[0] ?? "";
  const stored = Object.keys(venue.date_range[symbol] ?? {}).sort((a, b) => seconds(a) - seconds(b));
  return { strategy, venue, symbol, timeframe: stored.find((tf) => tf === "1h") ?? stored[0] ?? "" };
}
