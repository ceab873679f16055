// The JSON of the API, as names. The shapes come from openapi.json (gen/api.ts).
import type { components } from "../gen/api.ts";

type Schemas = components["schemas"];

export type Status = Schemas["Status"];
export type RunStatus = Schemas["RunStatus"];
export type Mode = Schemas["Mode"];
export type DetailedStatus = Schemas["DetailedStatus"];
export type FailureDetails = NonNullable<Schemas["FailureDetails"]>;
export type Results = Schemas["Results"];
export type RunConfig = Schemas["RunConfig"];
export type RunResponse = Schemas["RunResponse"];
export type Health = Schemas["Health"];
export type Strategy = Schemas["Strategy"];
export type Plot = Schemas["Plot"];
export type Exchange = Schemas["Exchange"];
export type Order = Schemas["Order"];
export type Fill = Schemas["Fill"];
export type Trade = Schemas["Trade"];
export type Position = Schemas["Position"];
export type EquityPoint = Schemas["EquityPoint"];
export type Alarm = Schemas["Alarm"];
export type Note = Schemas["Note"];
export type Metrics = Schemas["PerformanceMetrics"];
export type MetricsMeta = Schemas["MetricsMeta"];
export type RowsTotal = Schemas["RowsTotal"];
export type EquitySampling = Schemas["EquitySampling"];
export type BacktestRequest = Schemas["BacktestRequest"];
export type ControlRequest = Schemas["ControlRequest"];
export type LiveRequest = Schemas["LiveRequest"];
export type ErrorBody = Schemas["Error"]["error"];
export type FieldError = Schemas["FieldError"];

/** A line of the run's log. */
export interface LogLine {
  time: string | null;
  level: string;
  source: string;
  message: string;
  fields?: Record<string, string> | null;
}

/** First frame of a rich stream. */
export interface Hello {
  server_id: string;
  service_version: string;
  limits: { clients: number; messages_per_second: number; series_points: number; rows: number };
  risk: Record<string, unknown> | null;
  on_stop: string;
}

/** Second frame: everything, but not what is run: a `run` request asks for that. */
export type Snapshot = DetailedStatus & { log: LogLine[] };

/** The answer `run_result` to the message {"type":"run","payload":{"id":"6"}}; NO_RUN without a run. */
export interface RunResult {
  id: string;
  config: RunConfig;
  /** Names of the series that the strategy has published so far. */
  annotations: string[];
}

/** [ms, equity, cash, drawdown]; ms is the close time of the step, UTC. */
export type EquityTuple = [number, number, number, number];
/** [ms, open, high, low, close, volume]; ms is the open time of the first candle in it. */
export type CandleTuple = [number, number, number, number, number, number];
/** [ms, value] */
export type LineTuple = [number, number];
/** [ms, buys, sells, ambiguous]: how many fills happened from ms to the next point. */
export type FillsTuple = [number, number, number, number];

export type TableName = "orders" | "fills" | "trades";
export interface Rows<T> {
  items: T[];
  of: number;
}

/** What a chart asks for; times are ms, `to` is exclusive. */
export interface SeriesRequest {
  series: "candles" | "equity" | "drawdown" | "fills" | `annotation:${string}`;
  /** Whose candles and fills; of annotations its own, else those of the whole run. */
  symbol?: string;
  from?: number;
  to?: number;
  maxPoints?: number;
}
export interface SeriesResult {
  points: number[][];
  method: "none" | "aggregate" | "lttb+extremes";
  of: number;
  /** The trades of the stretch, of the fills of an ended run. */
  trades?: readonly Trade[];
  /** What the answer leaves out, a sentence. */
  left?: string;
}
