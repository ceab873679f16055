import type { Strategy } from "../../api/types.ts";
import { equal, test } from "../../testing.ts";
import { panesOf, pieces, stepOf } from "./panes.ts";

const candles = { symbol: "BTC/USDT", timeframe: "1h", points: [[0, 100, 110, 90, 105, 1], [10, 105, 120, 95, 100, 1]], of: 2 };
const plot = { series: "", title: "", pane: "", kind: "" as const, upper: "", levels: null, color: "" as const };
const declared = (...plots: Strategy["plots"] & object) => ({ plots }) as Strategy;

test("series are over the candles unless the strategy declares a pane", () => {
  const lines = new Map<string, [number, number][]>([["fast", [[10, 101]]], ["rsi", [[10, 70]]], ["volume", [[10, 5]]]]);
  const levels = [{ param: "top", value: 0, title: "" }];
  const [prices, own, ...rest] = panesOf({ candles, lines, strategy: declared({ ...plot, series: "rsi", pane: "RSI", levels }, { ...plot, series: "volume", pane: "RSI", kind: "histogram" }) }, { top: 80 });
  equal([prices!.name, prices!.lines.map((l) => l.name), prices!.range], ["", ["fast"], [90, 120]]);
  equal([own!.name, own!.lines.map((l) => l.name), own!.range, rest.length], ["RSI", ["rsi", "volume"], [0, 80], 0]);
});

test("what nobody declares and is no price does not flatten the candles", () => {
  const [prices] = panesOf({ candles, lines: new Map([["rsi", [[10, 2]]]]), strategy: undefined }, {});
  equal([prices!.range, prices!.lines[0]!.shared], [[90, 120], false]);
});

test("a band has both edges in its pane's range", () => {
  const lines = new Map<string, [number, number][]>([["low", [[10, 80]]], ["high", [[10, 130]]]]);
  const [prices] = panesOf({ candles, lines, strategy: declared({ ...plot, series: "low", kind: "band", upper: "high" }) }, {});
  equal([prices!.range, prices!.lines.map((l) => [l.name, l.edge])], [[80, 130], [["low", [[10, 130]]]]]);
});

test("a line stops where points are far apart", () => {
  equal(pieces([[0, 1], [10, 1], [20, 1], [300, 1]], 10).map((p) => p.length), [3, 1]);
  equal([pieces([], 10), stepOf(candles.points), stepOf([])], [[], 10, 0]);
});
