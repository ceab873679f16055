// An ended run as the chart takes it: read from its folder once, and by stretches of time.
import { computed, signal } from "@preact/signals";
import { read } from "../../api/client.ts";
import type { CandleTuple, EquityTuple, FillsTuple, LineTuple, SeriesRequest, SeriesResult, Strategy, Trade } from "../../api/types.ts";
import { symbolOf, type Selection, type Subject } from "../../chart/subject.ts";
import { count, decimalsOf, words } from "../../state/format.ts";
import { Unavailable, type Source } from "../../state/source.ts";
import { quoteOf } from "../../state/store.ts";
import type { Candles, Curve, List, Marks, Published, Run } from "../shapes.ts";

/** So many trades are drawn, taken evenly where there are more. */
const mostTrades = 500;

/** Reads what the chart of a run begins with. */
export const subjectOf = (run: Run) => async (path: string): Promise<Subject> => {
  const [published, strategies] = await Promise.all([read<Published>(path + "/series"), read<Strategy[]>("/strategies")]);
  const curve = await read<Curve>(`${path}/equity?split=${encodeURIComponent(published.split)}&points=4000`);
  // A split begins at the close of its first candle, the window at its opening.
  const part = run.splits.find((s) => s.split_id === published.split && s.role !== "full");
  const { start, end } = part ?? run.window ?? {};
  const equity = tuples(curve);
  const symbols = run.symbols ?? [], wanted = signal(""), symbol = computed(() => symbolOf(symbols, wanted.value));
  const cash = equity[0]?.[1] ?? 0, no = signal(false), zero = signal(0);
  const lost = published.left_out > 0 && `The run had no room for ${count(published.left_out)} points of its series.`;
  return {
    id: signal(run.run_id), symbol, choose: (name) => (wanted.value = name), quote: signal(quoteOf(symbols)), decimals: signal(decimalsOf(cash)),
    config: signal({ strategy_name: run.strategy?.name ?? run.slug, strategy_params: run.params ?? {}, symbols, timeframe: run.timeframe ?? "", initial_cash: cash }),
    plots: signal(strategies.find((s) => s.sha256 === run.strategy?.sha256)?.plots ?? []),
    // The symbol may have a series of the same name as the run.
    names: signal([...new Set(published.items.map((s) => s.name))]),
    source: signal(archive(path, published.split, { from: ms(start), to: ms(end) }, curve)), equity: signal(equity),
    running: no, ended: signal(true), polling: no, away: no, ahead: no, until: signal(null), generation: zero, revision: zero, liveCandle: signal(null),
    selection: signal<Selection | null>(null), levels: signal([]), worst: signal(null), fills: signal(null), asOf: signal(""),
    note: signal([`${words(published.split)}.`, published.total === 0 && "The strategy has published nothing.", lost].filter(Boolean).join(" ")),
  };
};

const ms = (time: string | null | undefined) => (time ? Date.parse(time) : undefined);

interface Ends {
  from: number | undefined;
  to: number | undefined;
}

const tuples = ({ items }: Curve) => items.map((p): EquityTuple => [Date.parse(p.timestamp), p.equity, p.cash, p.drawdown]);
const curveOf = (curve: Curve): SeriesResult => ({ ...curve.sampling, points: tuples(curve), left: left(curve.items.length, curve.sampling.of, "points of the equity") });

/** Answers what a chart asks for from the folder of a run; of the equity the whole is there already. */
function archive(path: string, split: string, run: Ends, whole: Curve): Source {
  const ask = <T>(what: string, values: Record<string, string | number | undefined>) =>
    read<T>(`${path}/${what}?${String(new URLSearchParams(Object.entries(values).flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, String(value)]]))))}`);
  const iso = (time: number | undefined) => (time === undefined || !Number.isFinite(time) ? undefined : new Date(time).toISOString());
  return {
    rows: () => Promise.reject(new Unavailable("the tables of the page have the rows")),
    series: async ({ series, symbol = "", from, to, maxPoints = 2000 }: SeriesRequest): Promise<SeriesResult> => {
      const points = Math.max(2, maxPoints), stretch = { from: iso(from), to: iso(to) };
      if (series === "candles") {
        const [first, last] = [Math.max(from ?? -Infinity, run.from ?? -Infinity), Math.min(to ?? Infinity, run.to ?? Infinity)];
        const found = await ask<Candles>("candles", { symbol, from: iso(first), to: iso(last), points });
        return { points: found.points as CandleTuple[], method: found.points.length < found.of ? "aggregate" : "none", of: found.of };
      }
      if (series === "fills") {
        const [marks, trades] = await Promise.all([
          ask<Marks>("marks", { split, symbol, ...stretch, points }).catch((): Marks => ({ split, points: [], of: 0 })),
          ask<List<Trade>>("trades", { split, symbol, ...stretch, points: mostTrades }).catch((): List<Trade> => ({ items: [], next_cursor: null, total: 0 })),
        ]);
        return { points: marks.points as FillsTuple[], method: "none", of: marks.of, trades: trades.items, left: left(trades.items.length, trades.total, "trades") };
      }
      if (series.startsWith("annotation:")) {
        const found = await ask<Published>("series", { split, name: series.slice("annotation:".length), symbol, ...stretch, points });
        return { points: found.points as LineTuple[], method: found.points.length < found.of ? "lttb+extremes" : "none", of: found.of };
      }
      if (from === undefined && to === undefined) return curveOf(whole);
      const found = await ask<Curve>("equity", { split, ...stretch, points });
      return curveOf(found);
    },
  };
}

const left = (drawn: number, of: number, what: string) => (drawn < of ? ` ${count(drawn)} of ${count(of)} ${what} are drawn.` : "");
