// Where chart and tables get rows and points from. The stream answers both; without it
// (polling) rows and equity come from the last /results, and candles are refused with
// Unavailable.
import { effect, signal } from "@preact/signals";
import type { Fill, Order, Results, Rows, SeriesRequest, SeriesResult, TableName, Trade } from "../api/types.ts";

export interface RowTypes {
  orders: Order;
  fills: Fill;
  trades: Trade;
}

export interface Source {
  /** A page of a table, newest first; limit is at most 500. */
  rows<T extends TableName>(table: T, offset: number, limit: number): Promise<Rows<RowTypes[T]>>;
  /** A series of the run, thinned for display. */
  series(request: SeriesRequest): Promise<SeriesResult>;
}

/** What is asked for cannot be had now: no stream, or the run is gone. */
export class Unavailable extends Error {}

/** Asks over the stream; of waiting questions with the same key only the newest is sent. */
export type Ask = (type: string, payload: Record<string, unknown>, key?: string) => Promise<Record<string, unknown>>;

/** The source of a connection. */
export function streamSource(ask: Ask): Source {
  const iso = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
  return {
    rows: async <T extends TableName>(table: T, offset: number, limit: number) =>
      (await ask("rows", { table, offset, limit })) as unknown as Rows<RowTypes[T]>,
    series: async ({ series, symbol, from, to, maxPoints }) => {
      const payload = { series, symbol, from: iso(from), to: iso(to), max_points: maxPoints };
      return (await ask("series", payload, `${series} ${symbol ?? ""}`)) as unknown as SeriesResult;
    },
  };
}

/** The source without a stream: what /results has, if there are any. */
export function offlineSource(results: Results | null): Source {
  return {
    rows: async <T extends TableName>(table: T, offset: number, limit: number) => {
      if (!results) throw new Unavailable("rows come with the results at the end of the run");
      const all = results[table] as RowTypes[T][], of = results.rows_total[table];
      if (offset < of && offset >= all.length) throw new Unavailable(`only the newest ${all.length} rows can be had without the stream`);
      const end = Math.max(0, all.length - offset);
      return { items: all.slice(Math.max(0, end - limit), end).reverse(), of };
    },
    series: async ({ series, from = -Infinity, to = Infinity }) => {
      if (!results || (series !== "equity" && series !== "drawdown")) throw new Unavailable("this series needs the stream");
      const points: number[][] = [];
      for (const p of results.equity_curve) {
        const at = Date.parse(p.timestamp);
        if (at < from || at >= to) continue;
        points.push(series === "equity" ? [at, p.equity, p.cash, p.drawdown] : [at, p.drawdown]);
      }
      return { points, method: results.equity_curve_sampling.method, of: results.equity_curve_sampling.of };
    },
  };
}

const unsettled = new WeakSet<Source>();

/** The source before it is known whether there is a stream: rows come from the results if they are there, all else waits. */
export function connectingSource(results: Results | null): Source {
  const rows = results && offlineSource(results);
  const made: Source = {
    rows: async (table, offset, limit) => (rows ?? (await settled())).rows(table, offset, limit),
    series: async (request) => (await settled()).series(request),
  };
  unsettled.add(made);
  return made;
}

function settled(): Promise<Source> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      const now = source.value;
      if (unsettled.has(now)) return;
      resolve(now);
      queueMicrotask(() => stop());
    });
  });
}

/** The current source; without a stream it refuses candles, which hides their pane. */
export const source = signal<Source>(connectingSource(null));
