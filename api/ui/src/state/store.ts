// The state of the page: one signal per thing that changes by itself. Only stream/ and
// state/session.ts write here; everything else reads and calls session.
import { computed, signal } from "@preact/signals";
import type { ApiError } from "../api/client.ts";
import type {
  EquityTuple, Exchange, Fill, Health, Hello, LogLine, Metrics, MetricsMeta, Note, Order, Position, Results, RowsTotal, RunConfig,
  Status, Strategy, Trade,
} from "../api/types.ts";

export const idle: Status = {
  run_id: "", status: "idle", mode: "", start_time: null, runtime_seconds: 0, cash: 0, value: 0, pnl: 0, trade_count: 0, phase: "",
  end_time: null, updated_at: null, progress: null, simulated_time: null, candles_done: 0, candles_total: null, candles_per_second: 0,
  eta_seconds: null, stop_reason: null, partial: false, ungated: false, message: "", error: null, error_details: null, alarms: [],
};

/** How the page gets its data. */
export interface Connection {
  /** connecting: nothing yet. live: the stream. reconnecting: the stream broke, last data kept. polling: no stream, /status every 2 s.
   *  down: the service does not answer at all. */
  state: "connecting" | "live" | "reconnecting" | "polling" | "down";
  /** performance.now() when data last came; 0 = never. */
  lastData: number;
  /** The same for the stream alone: what is not in /status is as old as this until /results are there. */
  lastFrame: number;
  /** performance.now() of the next attempt, 0 = under way. */
  retryAt: number;
}

/** The newest entries of the three tables, newest first, and how many there are. */
export interface Recent {
  orders: Order[];
  fills: Fill[];
  trades: Trade[];
  total: RowsTotal;
}

/** Metrics and notes, as /status/detailed and /results have them. */
export interface Report {
  metrics: Metrics | null;
  undefined: string[];
  meta: MetricsMeta | null;
  assumptions: Note[];
  warnings: Note[];
}

export const hello = signal<Hello | null>(null);
export const connection = signal<Connection>({ state: "connecting", lastData: 0, lastFrame: 0, retryAt: 0 });
export const status = signal<Status>(idle);
/** The run's configuration: from the snapshot, later from /results. */
export const config = signal<RunConfig | null>(null);
export const report = signal<Report>({ metrics: null, undefined: [], meta: null, assumptions: [], warnings: [] });
export const recent = signal<Recent>({ orders: [], fills: [], trades: [], total: { orders: 0, fills: 0, trades: 0 } });
export const positions = signal<Position[]>([]);
/** At most 4,000 points, the worst drawdown among them. */
export const equity = signal<EquityTuple[]>([]);
/** Names of the series that the strategy publishes. */
export const annotations = signal<string[]>([]);
/** The newest 1,000 lines, oldest first. */
export const log = signal<LogLine[]>([]);
export const health = signal<Health | null>(null);
export const strategies = signal<Strategy[] | null>(null);
export const exchanges = signal<Exchange[] | null>(null);
/** Lists that could not be loaded the last time: why, and how often in a row. They are asked for again and again. */
export const listProblems = signal<{ [list in "strategies" | "exchanges"]?: { error: ApiError; times: number } }>({});
/** /results of the ended run, thinned (points=2000, rows=500). */
export const results = signal<Results | null>(null);
/** Why the last attempt to read them failed; they are asked for again. */
export const resultsProblem = signal<ApiError | null>(null);
/** When the stream last said something while this run was shown, by the service's clock; "" = never. */
export const asOf = signal("");
/** A candle of a paper or live run that has just changed. */
export const liveCandle = signal<{ symbol: string; timeframe: string; candle: number[]; closed: boolean } | null>(null);
/** Says something to the person once, such as "the service restarted". */
export const notice = signal<string>("");
/** The moment that is selected on the chart or in a table, ms; id names the row if there is one, symbol the one whose rows are preferred. */
export const selection = signal<{ time: number; id: string; from: "chart" | "table"; symbol?: string; trade?: Trade } | null>(null);
/** Increases with every change of run or of server: caches of rows and series of before are void. */
export const generation = signal(0);
/** Increases when orders, fills or trades came. */
export const revision = signal(0);

/** Whether the service has said how it stands: before that nothing is claimed, and nothing started. */
export const known = computed(() => connection.value.lastData > 0);
export const running = computed(() => status.value.status === "running");
export const ended = computed(() => status.value.status === "completed" || status.value.status === "failed");
/** Whether a run may have left orders or positions, which a reset shows first: no other run takes its place. */
export const resetOnly = computed(
  () => ended.value && status.value.mode !== "backtest" && ["RUN_INTERRUPTED", "JOURNAL_QUARANTINED", "STOP_UNCONFIRMED"].includes(status.value.error_details?.code ?? ""),
);
/** What a strategy is called: as it calls itself, else by its name. */
export const called = (name: string) => strategies.value?.find((s) => s.name === name)?.display_name || name;
/** What that of the run is called. */
export const strategyName = computed(() => called(config.value?.strategy_name ?? ""));
/** The quote currency of the run, "" without one. */
export const quote = computed(() => quoteOf(config.value?.symbols ?? []));

/** The quote currency of symbols, "" when there are none. */
export function quoteOf(symbols: string[]): string {
  return symbols[0]?.split("/")[1] ?? "";
}
