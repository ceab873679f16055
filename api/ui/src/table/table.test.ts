import type { Order, Trade } from "../api/types.ts";
import { equal, ok, test } from "../testing.ts";
import { arrange, compare, matches, nextSort, sortOf, sortWord } from "./arrange.ts";
import { collect, type Progress } from "./collect.ts";
import { dash, headOf } from "./columns.ts";
import { cell, csv } from "./csv.ts";
import { headRow, travel } from "./keys.ts";
import { beside, distance, locate, nearest } from "./locate.ts";
import { fills, orders, positions, trades } from "./specs.ts";
import { charactersOf } from "./widths.ts";

const trade = (n: number, more: Partial<Trade> = {}): Trade => ({
  trade_id: "t-" + String(n).padStart(6, "0"), symbol: "BTC/USDT", direction: "long", quantity: 0.15, entry_time: "2024-03-05T14:00:00.000Z",
  entry_price: 61975, exit_time: "2024-03-06T04:00:00.000Z", exit_price: 62890, gross_pnl: 137.25, fees: 18.72975, slippage: 4.6455, pnl: 118.52025,
  return: 0.01274925, exit_reason: "take_profit", candles_held: 14, duration_seconds: 50400, mae: -41.2, mfe: 137.25, entry_tag: "breakout",
  exit_tag: null, order_ids: ["o-000143", "o-000145"], ambiguous: false, ...more,
});
const order = { status: "rejected", quantity: 0, limit_price: null, fee: 0, tag: null, client_order_id: "" } as Order;
const textOf = <R>(spec: { columns: { key: string; text(row: R): string }[] }, key: string, row: R) => spec.columns.find((c) => c.key === key)?.text(row);

test("a trade in words", () => {
  const shown = trades.columns.map((c) => c.text(trade(71, { ambiguous: true })));
  equal(shown, [
    "2024-03-06 04:00", "+118.52", "+1.27\u202f%", "BTC/USDT", "long", "0.15", "61\u202f975", "62\u202f890", "take profit ○", "14",
    "\u221241.20", "+137.25",
  ]);
  equal(trades.columns.map((c) => headOf(c, "USDT")).slice(0, 7), ["Exit time, UTC", "PnL, USDT", "Return", "Symbol", "Direction", "Quantity", "Entry, USDT"]);
  equal(trades.columns.find((c) => c.key === "pnl")?.tone?.(trade(1, { pnl: -1 })), "down");
});

test("large numbers keep the digits before their point", () => {
  const texts = [605152504.893745, 61975.123456, 0.123456789, 1e-9, 123456789012.3456].map((n) => textOf(trades, "entry_price", trade(1, { entry_price: n })));
  equal(texts, ["605\u202f152\u202f504.89", "61\u202f975.123", "0.12345679", "0.000000001", "123\u202f456\u202f789\u202f012.35"]);
});

test("a missing value is a dash, never 0", () => {
  equal(["limit_price", "tag", "client_order_id", "quantity"].map((key) => textOf(orders, key, order)), [dash, dash, dash, dash]);
  equal(textOf(orders, "fee", order), "0.00");
});

test("each field of the API that a table names is in its file", () => {
  for (const spec of [trades, orders, fills, positions]) {
    const fields: readonly string[] = spec.fields;
    equal(spec.columns.map((c) => c.key).filter((key) => !fields.includes(key)), []);
  }
  for (const spec of [orders, fills, positions]) {
    const keys: string[] = spec.columns.map((c) => c.key);
    equal(spec.fields.filter((field) => !keys.includes(field)), []);
  }
});

test("capital letters are wider than digits, and others may be", () => {
  equal([charactersOf("2017-08-28 11:00"), charactersOf("long"), charactersOf("BTC/USDT"), charactersOf("漢字")], [16, 4, 10, 4]);
});

test("sorting goes round: ascending, descending, newest first", () => {
  const up = nextSort(null, "pnl"), down = nextSort(up, "pnl");
  equal([up, down, nextSort(down, "pnl"), nextSort(down, "mae")], [
    { column: "pnl", down: false }, { column: "pnl", down: true }, null, { column: "mae", down: false },
  ]);
  const rows = [trade(1, { pnl: 5 }), trade(2, { pnl: -3 }), trade(3, { pnl: 5 })];
  const all = () => true;
  equal(arrange(rows, all, null, trades.columns), [2, 1, 0]);
  equal(arrange(rows, all, { column: "pnl", down: false }, trades.columns), [1, 2, 0]);
  equal(arrange(rows, all, { column: "pnl", down: true }, trades.columns), [2, 0, 1]);
  equal(arrange(rows, (t) => t.pnl > 0, null, trades.columns), [2, 0]);
  equal([compare(null, 1, false), compare(null, 1, true), compare(2, 10, false), compare("a", "b", true), compare(null, null, true)], [1, 1, -1, 1, 0]);
});

test("the filter looks at symbol, direction, reason, id and tag", () => {
  const text = trades.search(trade(71));
  for (const words of ["btc", "LONG", "take profit", "take_profit", "t-000071", "breakout", "o-000145", "profit  long", ""]) ok(matches(text, words), words);
  ok(!matches(text, "short"), "short");
  ok(!matches(text, "long signal"), "all words are needed");
});

test("csv quotes, keeps raw values and disarms formulas", () => {
  equal(csv<Trade>(["trade_id", "pnl", "exit_tag", "order_ids", "ambiguous"], [trade(71)]),
    "trade_id,pnl,exit_tag,order_ids,ambiguous\r\nt-000071,118.52025,,o-000143;o-000145,false\r\n");
  equal(["a,b", 'say "no"', "two\nlines", " x", "=1+1", "+a", "-a", "@a", "\ta", "a=b"].map(cell),
    ['"a,b"', '"say ""no"""', '"two\nlines"', '" x"', "'=1+1", "'+a", "'-a", "'@a", "'\ta", "a=b"]);
  equal([-3.1, 0, 1e-7, -1.25e-9, 1e21, 1.5e22, null, true].map(cell), ["-3.1", "0", "0.0000001", "-0.00000000125", "1000000000000000000000", "15000000000000000000000", "", "true"]);
});

test("collecting pages while rows arrive takes each row once", async () => {
  let total = 1234;
  const seen: Progress[] = [];
  const load = (offset: number, limit: number) => {
    total += 70;
    const items = Array.from({ length: Math.min(limit, total - offset) }, (_, i) => total - 1 - offset - i);
    return Promise.resolve({ items, of: total });
  };
  const rows = await collect(load, 100_000, (p) => seen.push(p) > 0);
  equal(rows?.length, 1304);
  equal([rows?.[0], rows?.at(-1), new Set(rows).size], [1303, 0, 1304]);
  equal(seen.at(-1), { done: 1304, of: 1304 });
  equal((await collect(load, 600, () => true))?.length, 600);
  equal(await collect(load, 100_000, (p) => p.done < 1000), null);
  const empty = await collect(() => Promise.resolve({ items: [], of: 0 }), 10, () => true);
  equal(empty, []);
  const part = (offset: number) => Promise.resolve({ items: offset ? [] : [1, 2], of: 9 });
  equal(await collect(part, 10, () => true).catch((e: Error) => e.message), "only the newest 2 rows can be had now");
});

test("the row of a moment is found with few looks", async () => {
  const total = 100_000;
  for (const time of [-5, 0, 1, 49_999 * 10 + 4, 49_999 * 10 + 6, 999_990, 2e6]) {
    const pages = new Set<number>();
    const row = await locate(total, async (i) => {
      pages.add(Math.floor(i / 200));
      return [i * 10, i * 10];
    }, time);
    equal(row, Math.max(0, Math.min(total - 1, Math.round(time / 10))));
    ok(pages.size <= 5, `${pages.size} pages`);
  }
  const uneven = (i: number) => (i < 50_000 ? i : 1e9 + i * i);
  let looks = 0;
  const found = await locate(total, async (i) => (looks++, [uneven(i), uneven(i)]), uneven(70_000));
  equal(found, 70_000);
  ok(looks <= 60, `${looks} looks`);
  equal(await locate(0, async () => [0, 0], 5), -1);
});

test("a moment within a trade is that trade", async () => {
  const spans: [number, number][] = [[0, 10], [50, 60], [61, 200]];
  const at = (time: number) => locate(3, async (i) => spans[i] as [number, number], time);
  equal([await at(5), await at(20), await at(45), await at(62), await at(999)], [0, 0, 1, 2, 2]);
  equal([distance([50, 60], 55), distance([50, 60], 40), distance([50, 60], 61)], [0, 10, 1]);
  equal([nearest(spans, 45), nearest([], 1)], [1, -1]);
});

test("a row of the shown symbol is preferred to one that is a little nearer", async () => {
  const rows = "AABBBBBBAB";
  const of = (symbol: string, row: number, most?: number) => beside(row, rows.length, async (i) => ({ mine: rows[i] === symbol, distance: Math.abs(i - row) }), most);
  equal([await of("A", 3), await of("A", 5), await of("B", 1), await of("A", 0), await of("C", 4)], [1, 8, 2, 0, 4]);
  equal([await of("A", 5, 2), await of("A", 4, 3)], [5, 1]);
});

test("keys of a grid", () => {
  const x = { rows: 100, columns: 12, page: 10, heads: true };
  const go = (key: string, row: number, column: number, ctrl = false, more = {}) => {
    const to = travel(key, ctrl, { row, column }, { ...x, ...more });
    return to && [to.row, to.column];
  };
  equal([go("ArrowDown", 5, 3), go("ArrowUp", 0, 3), go("ArrowUp", 0, 3, false, { heads: false })], [[6, 3], [headRow, 3], [0, 3]]);
  equal([go("ArrowDown", headRow, 3), go("PageDown", headRow, 0), go("PageUp", 5, 0), go("PageUp", 95, 0)], [[0, 3], [10, 0], [0, 0], [85, 0]]);
  equal([go("Home", 5, 3), go("End", 5, 3), go("Home", 5, 3, true), go("End", 5, 3, true)], [[5, 0], [5, 11], [0, 0], [99, 11]]);
  equal([go("ArrowDown", 99, 0), go("ArrowLeft", 5, 0), go("ArrowRight", 5, 11), go("PageDown", 99, 0)], [[99, 0], [5, 0], [5, 11], [99, 0]]);
  equal([go("a", 5, 5), go("Enter", 5, 5)], [null, null]);
});

test("an order is a word of the address, and none of a column that is not there", () => {
  for (const word of ["pnl", "-pnl", ""]) equal(sortWord(sortOf(word, trades.columns)), word);
  equal(sortOf("-luck", trades.columns), null);
});
