// An ended run as the chart takes it: read from its folder once, and by stretches of time.
import { computed, signal } from "@preact/signals";
import { read } from "../../api/client.ts";
import type { CandleTuple, EquityTuple, Fill, FillsTuple, LineTuple, SeriesRequest, SeriesResult, Strategy, Trade } from "../../api/types.ts";
import { symbolOf, type Selection, type Subject } from "../../chart/subject.ts";
import { count, decimalsOf, words } from "../../state/format.ts";
import { Unavailable, type Source } from "../../state/source.ts";
import { quoteOf } from "../../state/store.ts";
import type { Candles, Curve, List, Published, Run } from "../shapes.ts";

/** A page of rows, and of how many pages fills are marked. */
const most = 500, mostPages = 8;
const none = { items: [], next_cursor: null, total: 0 };

/** Reads what the chart of a run begins with. */
export const subjectOf = (run: Run) => async (path: string): Promise<Subject> => {
  const [published, strategies] = await Promise.all([read<Published>(path + "/series"), read<Strategy[]>("/strategies")]);
  const split = encodeURIComponent(published.split);
  const [curve, trades] = await Promise.all([
    read<Curve>(`${path}/equity?split=${split}&points=4000`),
    read<List<Trade>>(`${path}/trades?split=${split}&limit=${most}`).catch((): List<Trade> => none),
  ]);
  // A split begins at the close of its first candle, the window at its opening.
  const part = run.splits.find((s) => s.split_id === published.split && s.role !== "full");
  const { start, end } = part ?? run.window ?? {};
  const equity = curve.items.map((p): EquityTuple => [Date.parse(p.timestamp), p.equity, p.cash, p.drawdown]);
  const symbols = run.symbols ?? [], wanted = signal(""), symbol = computed(() => symbolOf(symbols, wanted.value));
  const cash = equity[0]?.[1] ?? 0, no = signal(false), zero = signal(0);
  const left = trades.next_cursor && `Of the trades, the first ${count(trades.items.length)} are drawn.`;
  const lost = published.left_out > 0 && `The run had no room for ${count(published.left_out)} points of its series.`;
  return {
    id: signal(run.run_id), symbol, choose: (name) => (wanted.value = name), quote: signal(quoteOf(symbols)), decimals: signal(decimalsOf(cash)),
    config: signal({ strategy_name: run.strategy?.name ?? run.slug, strategy_params: run.params ?? {}, symbols, timeframe: run.timeframe ?? "", initial_cash: cash }),
    plots: signal(strategies.find((s) => s.sha256 === run.strategy?.sha256)?.plots ?? []),
    // The symbol may have a series of the same name as the run.
    names: signal([...new Set(published.items.map((s) => s.name))]),
    source: signal(archive(path, published.split, { from: ms(start), to: ms(end) }, equity)), equity: signal(equity),
    running: no, ended: signal(true), polling: no, away: no, ahead: no, until: signal(null), generation: zero, revision: zero, liveCandle: signal(null),
    selection: signal<Selection | null>(null), levels: signal([]), trades: signal(trades.items), worst: signal(null), fills: signal(null), asOf: signal(""),
    note: signal([`${words(published.split)}.`, published.total === 0 && "The strategy has published nothing.", left, lost].filter(Boolean).join(" ")),
  };
};

const ms = (time: string | null | undefined) => (time ? Date.parse(time) : undefined);

interface Ends {
  from: number | undefined;
  to: number | undefined;
}

/** Answers what a chart asks for from the folder of a run. */
function archive(path: string, split: string, run: Ends, equity: EquityTuple[]): Source {
  const marked = new Map<string, Promise<FillsTuple[]>>();
  const asked = (values: Record<string, string | number | undefined>) =>
    String(new URLSearchParams(Object.entries(values).flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, String(value)]]))));
  const iso = (time: number | undefined) => (time === undefined ? undefined : new Date(time).toISOString());
  const fills = (symbol: string) => {
    if (!marked.has(symbol)) marked.set(symbol, readFills(`${path}/fills?${asked({ split, symbol, limit: most })}`));
    return marked.get(symbol)!;
  };
  return {
    rows: () => Promise.reject(new Unavailable("the tables of the page have the rows")),
    series: async ({ series, symbol = "", from, to, maxPoints = 2000 }: SeriesRequest): Promise<SeriesResult> => {
      const points = Math.max(2, maxPoints), inside = <P extends number[]>(all: P[]) => all.filter(([at]) => at! >= (from ?? -Infinity) && at! < (to ?? Infinity));
      if (series === "candles") {
        const [first, last] = [Math.max(from ?? -Infinity, run.from ?? -Infinity), Math.min(to ?? Infinity, run.to ?? Infinity)];
        const found = await read<Candles>(`${path}/candles?${asked({ symbol, from: Number.isFinite(first) ? iso(first) : "", to: Number.isFinite(last) ? iso(last) : "", points })}`);
        return { points: found.points as CandleTuple[], method: found.points.length < found.of ? "aggregate" : "none", of: found.of };
      }
      if (series === "fills") {
        const all = inside(await fills(symbol));
        return { points: all, method: "none", of: all.length };
      }
      if (!series.startsWith("annotation:")) return { points: inside(equity), method: "none", of: equity.length };
      const found = await read<Published>(`${path}/series?${asked({ split, name: series.slice("annotation:".length), symbol, from: iso(from), to: iso(to), points })}`);
      return { points: found.points as LineTuple[], method: found.points.length < found.of ? "lttb+extremes" : "none", of: found.of };
    },
  };
}

/** The fills of a run, page by page; none where it keeps none. */
async function readFills(path: string): Promise<FillsTuple[]> {
  const at = new Map<number, FillsTuple>();
  let cursor: string | null = "";
  for (let page = 0; page < mostPages && cursor !== null; page++) {
    const list: List<Fill> = await read<List<Fill>>(path + (cursor && `&cursor=${encodeURIComponent(cursor)}`)).catch(() => none);
    for (const fill of list.items) {
      const time = Date.parse(fill.timestamp), mark = at.get(time) ?? [time, 0, 0, 0];
      mark[fill.side === "buy" ? 1 : 2]++;
      if (fill.ambiguous) mark[3]++;
      at.set(time, mark);
    }
    cursor = list.next_cursor;
  }
  return [...at.values()];
}
