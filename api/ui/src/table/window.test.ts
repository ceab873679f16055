import { equal, ok, test } from "../testing.ts";
import { trades } from "./specs.ts";
import { Widths } from "./widths.ts";
import { keep, pageOf, reveal, roomFor, seen, spare, tallest, windowOf, type Scroll } from "./window.ts";

const at = (scrollTop: number, rows = 1000): Scroll => ({ rows, rowHeight: 28, viewport: 280, scrollTop });

test("the window is what is seen and some rows more", () => {
  equal(windowOf(at(0)), { first: 0, end: 10 + spare, height: 28000, shift: 0 });
  equal(windowOf(at(2800)), { first: 100 - spare, end: 110 + spare, height: 28000, shift: 0 });
  equal(windowOf(at(27720)), { first: 990 - spare, end: 1000, height: 28000, shift: 0 });
  equal(seen(at(14)), { first: 0, end: 11 });
});

test("a short or empty table is drawn whole", () => {
  equal(windowOf(at(0, 3)), { first: 0, end: 3, height: 84, shift: 0 });
  equal(windowOf(at(0, 0)), { first: 0, end: 0, height: 0, shift: 0 });
  equal(windowOf(at(500, 3)), { first: 0, end: 3, height: 84, shift: 0 });
});

test("scrolling beyond the ends stays inside", () => {
  equal(windowOf(at(-50)).first, 0);
  equal(windowOf(at(1e9)).end, 1000);
});

test("a table too tall for the browser is scrolled in larger steps", () => {
  const rows = 2_000_000;
  const bottom = tallest - 280;
  const end = windowOf(at(bottom, rows));
  equal(end.height, tallest);
  equal(end.end, rows);
  const y = (rows - 1) * 28 + end.shift;
  ok(Math.abs(y - (tallest - 28)) < 0.01, `the last row ends where the element ends, got ${y}`);
  for (const top of [0, 1, 12345, 4_000_000, bottom - 1]) {
    const s = at(top, rows), w = windowOf(s), first = seen(s).first;
    const place = first * 28 + w.shift - top;
    ok(place <= 0 && place > -28, `the first seen row is at the top edge, got ${place} at ${top}`);
  }
});

test("reveal moves only when it must", () => {
  equal(reveal(at(0), 9), 0);
  equal(reveal(at(0), 10), 28);
  equal(reveal(at(280), 9), 252);
  equal(reveal(at(0), 500), 500 * 28 - 126);
  equal(reveal(at(0), 999), 1000 * 28 - 280);
  equal(reveal(at(5000), 0), 0);
});

test("reveal reaches each row of a table too tall", () => {
  const rows = 1_000_000;
  for (const row of [0, 1, 777_777, rows - 1]) {
    const s = at(0, rows), top = reveal(s, row), there = seen({ ...s, scrollTop: top });
    ok(there.first <= row && row < there.end, `row ${row} is seen`);
  }
});

test("rows above do not move what is seen", () => {
  equal(keep(at(280), 5), 280 + 5 * 28);
  const before = at(4_000_000, 1_000_000), after = { ...before, rows: 1_000_100, scrollTop: keep(before, 100) };
  equal(seen(after).first, seen(before).first + 100);
});

test("page keys", () => {
  equal(pageOf(at(0)), 10);
  equal(pageOf({ rowHeight: 56, viewport: 20 }), 1);
});

test("the table takes what the screen has left, five rows at least", () => {
  equal(roomFor(600, 28, 900, 0), "min(24rem, 288px)");
  equal(roomFor(800, 28, 900, 0), "min(24rem, 168px)");
  equal(roomFor(800, 28, 900, 15), "min(24rem, 183px)");
  equal(roomFor(1400, 28, 900, 0), "min(24rem, 540px)");
});

test("columns grow with what is drawn, free text up to a bound", () => {
  const w = new Widths([0, 3, 4, 5].map((i) => trades.columns[i]) as never, "USDT");
  ok(w.changed() !== null, "the heads at first");
  w.seen(0, "0".repeat(3));
  equal(w.changed(), null);
  w.seen(3, "0".repeat(40));
  w.seen(1, "0".repeat(90));
  equal(w.changed()?.tracks.match(/\d+ch/g), ["13ch", "28ch", "9ch", "40ch"]);
  w.seen(3, "0".repeat(12));
  equal(w.changed(), null);
});
