// What a chart is of: the run of the runner, or an ended one that the service reads from its folder.
import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { CandleTuple, EquityTuple, Plot as Declared, RunConfig } from "../api/types.ts";
import { datedAt } from "../state/fresh.ts";
import { decimals } from "../state/money.ts";
import { source, type Source } from "../state/source.ts";
import * as store from "../state/store.ts";
import { symbol as chosen } from "../state/view.ts";
import type { Level } from "./plot.ts";

type Read<T> = ReadonlySignal<T>;

export interface Subject {
  id: Read<string>;
  config: Read<Pick<RunConfig, "strategy_name" | "strategy_params" | "symbols" | "timeframe" | "initial_cash"> | null>;
  /** The symbol of the candle pane, and who changes it. */
  symbol: Read<string>;
  choose: (symbol: string) => void;
  quote: Read<string>;
  /** Decimals of money. */
  decimals: Read<number>;
  /** What the strategy has declared, and the names of what it has published. */
  plots: Read<readonly Declared[]>;
  names: Read<string[]>;
  source: Read<Source>;
  /** What came by itself: more than the answers while a run goes on. */
  equity: Read<EquityTuple[]>;
  running: Read<boolean>;
  ended: Read<boolean>;
  /** There is no stream: no candles can be had. */
  polling: Read<boolean>;
  /** Nothing is answered now: what is drawn stays. */
  away: Read<boolean>;
  /** The run has not seen all candles: a backtest that goes on, or got nowhere. */
  ahead: Read<boolean>;
  /** When a backtest ended, ms by its candles' clock; null while it goes on, or when it did not begin. */
  until: Read<number | null>;
  /** Rises when everything is another run's. */
  generation: Read<number>;
  /** Rises when fills came. */
  revision: Read<number>;
  liveCandle: Read<{ symbol: string; candle: CandleTuple } | null>;
  selection: Signal<Selection | null>;
  /** Prices that are marked. */
  levels: Read<Level[]>;
  worst: Read<number | null>;
  fills: Read<number | null>;
  /** When what is shown was so; "" for now. */
  asOf: Read<string>;
  /** What the person should know of what is drawn; "" for nothing. */
  note: Read<string>;
}

export type Selection = NonNullable<typeof store.selection.value>;

/** The symbol that was chosen, while the run has it, else its first. */
export const symbolOf = (symbols: readonly string[], wanted: string) => (symbols.includes(wanted) ? wanted : (symbols[0] ?? ""));

const backtest = computed(() => store.status.value.mode === "backtest");
const until = computed(() => (backtest.value && store.ended.value && Date.parse(store.status.value.simulated_time ?? "")) || null);
const symbol = computed(() => symbolOf(store.config.value?.symbols ?? [], chosen.value));

/** The run of the runner. */
export const runner: Subject = {
  id: computed(() => store.status.value.run_id), config: store.config, symbol, choose: (name) => (chosen.value = name), quote: store.quote, decimals, source, equity: store.equity,
  // None while it is not known, or was replaced by another version.
  plots: computed(() => store.strategies.value?.find((s) => s.name === store.config.value?.strategy_name)?.plots ?? []),
  names: store.annotations, running: store.running, ended: store.ended,
  polling: computed(() => store.connection.value.state === "polling"),
  away: computed(() => ["reconnecting", "down"].includes(store.connection.value.state)),
  ahead: computed(() => backtest.value && until.value === null), until,
  generation: store.generation, revision: store.revision, selection: store.selection,
  liveCandle: computed(() => store.liveCandle.value && { symbol: store.liveCandle.value.symbol, candle: store.liveCandle.value.candle as CandleTuple }),
  // Stop and target of the open position of the shown symbol.
  levels: computed<Level[]>(() => {
    const open = store.positions.value.find((p) => p.symbol === symbol.value);
    const all: [string, number | null | undefined][] = [["stop", open?.stop_loss], ["target", open?.take_profit]];
    return all.flatMap(([title, price]) => (typeof price === "number" ? [{ title, price }] : []));
  }),
  worst: computed(() => store.report.value.metrics?.max_drawdown ?? null), fills: computed(() => store.recent.value.total.fills), asOf: datedAt, note: signal(""),
};
