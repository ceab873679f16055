// Filling the form from elsewhere: a run's configuration, the sample, the first visit.
import type { Exchange, RunConfig, Strategy } from "../api/types.ts";
import * as draft from "./draft.ts";
import type { Raw } from "./draft.ts";
import { nameOf } from "./model.ts";
import { typed } from "./moment.ts";
import { firstChoice, windowOf } from "./offers.ts";
import type { Sample } from "./sample.ts";
import { fieldsOf } from "./schema.ts";
import type { Field, Json } from "./schema.ts";
import { toRaw } from "./validate.ts";

type Values = { readonly [key: string]: unknown };

/** Puts a run's configuration into the form. */
export function refill(config: RunConfig, strategy: Strategy | undefined, venue: Exchange | undefined, fills: Field[]) {
  draft.mode.value = config.mode === "paper" || config.mode === "live" ? config.mode : "backtest";
  draft.strategy.value = config.strategy_name;
  draft.symbols.value = [...config.symbols];
  draft.timeframe.value = config.timeframe;
  draft.exchange.value = config.exchange;
  draft.start.value = config.start_date ? typed(config.start_date) : "";
  // A run to the last candle is repeated to there, and not to the hold-out.
  const whole = windowOf(venue, config.symbols, config.timeframe);
  draft.end.value = config.end_date ? typed(config.end_date) : whole?.held ? typed(whole.end) : "";
  draft.cash.value = String(config.initial_cash);
  draft.confirmation.value = "";
  const fields = fieldsOf(strategy?.params_schema, { ...config.strategy_params });
  draft.setScope(draft.paramsScope(config.strategy_name), differing(fields, config.strategy_params, strategy?.default_params ?? {}));
  draft.setScope(draft.executionScope, differing(fills, config.execution, defaultsOf(fills, config, venue)));
}

/** The values that are not the defaults: what is left untouched follows those. */
function differing(fields: Field[], values: Values, defaults: Values): Record<string, Raw> {
  const out: Record<string, Raw> = {};
  const named = new Set(fields.map((f) => f.name));
  for (const f of fields) {
    const value = f.rest ? Object.fromEntries(Object.entries(values).filter(([k]) => !named.has(k))) : values[f.name];
    if (value === undefined || JSON.stringify(value) === JSON.stringify(f.rest ? undefined : defaults[f.name])) continue;
    out[nameOf(f)] = toRaw(f, value as Json);
  }
  return out;
}

/** What applies where the request says nothing. The other profiles have their own
 *  defaults, which only the service knows: there everything counts as chosen. */
function defaultsOf(fills: Field[], config: RunConfig, venue: Exchange | undefined): Values {
  const known = Object.fromEntries(fills.map((f) => [f.name, f.initial]));
  if (config.execution.profile !== known.profile) return {};
  return { ...known, fee_maker: venue?.fees.maker ?? 0.001, fee_taker: venue?.fees.taker ?? 0.001 };
}

/** The sample: the strategy with its defaults on everything that the exchange has of one symbol. */
export function showSample({ strategy, venue, symbol, timeframe }: Sample) {
  draft.mode.value = "backtest";
  draft.strategy.value = strategy.name;
  draft.symbols.value = [symbol];
  draft.timeframe.value = timeframe;
  draft.exchange.value = venue.id;
  draft.start.value = "";
  draft.end.value = "";
  draft.cash.value = "10000";
  draft.setScope(draft.paramsScope(strategy.name), {});
  draft.setScope(draft.executionScope, {});
}

/** Something that can be started, where nothing is chosen yet. */
export function complete(strategies: readonly Strategy[], exchanges: readonly Exchange[]) {
  if (!draft.strategy.value) {
    const usable = strategies.filter((s) => s.status === "available");
    draft.strategy.value = (usable.find((s) => s.name === "sma_cross") ?? usable[0])?.name ?? "";
  }
  const first = firstChoice(exchanges);
  if (!first || draft.symbols.value.length || draft.timeframe.value) return;
  draft.symbols.value = [first.symbol];
  draft.timeframe.value = first.timeframe;
}
