import { equal, ok, test } from "../testing.ts";
import type { Axis } from "./align.ts";
import * as r from "./range.ts";

const axis: Axis = { times: [0, 10, 20, 50], end: 60, closing: false };

test("chart: places and times are each other's inverse", () => {
  equal([-0.5, 0, 0.5, 2.5, 3, 3.5].map((x) => r.timeAt(axis, x)), [0, 5, 10, 50, 55, 60]);
  for (const place of [-7, -0.5, 0.1, 1, 2.4, 3.49, 9]) {
    ok(Math.abs(r.placeAt(axis, r.timeAt(axis, place)) - place) < 1e-9, `place ${place}`);
  }
  const one: Axis = { times: [100], end: 110, closing: false };
  equal(r.placesOf(one, { from: 100, to: 110 }), { from: -0.5, to: 0.5 });
  equal(r.timeAt({ times: [], end: 0, closing: false }, 3), 0);
});

test("chart: everything, and few slots in the middle", () => {
  equal(r.everything({ ...axis, times: Array.from({ length: 100 }, (_, i) => i) }), { from: -0.5, to: 99.5 });
  const few = r.everything(axis);
  ok(few.from < -5 && few.from + few.to === 3, "four slots are not blown up");
});

test("chart: a view asks for more than is visible, for the whole run when that is nearly it", () => {
  const full = { from: 0, to: 100_000 };
  equal(r.plan({ from: 40_000, to: 60_000 }, full, 1), { from: 35_000, to: 65_000 });
  equal(r.plan({ from: 50_000, to: 50_100 }, full, 1), { from: 49_800, to: 50_300 }, "wide where it costs no detail");
  equal(r.plan({ from: 95_000, to: 105_000 }, full, 1), { from: 92_500, to: 100_000 });
  equal(r.plan({ from: 1000, to: 99_000 }, full, 1), null);
});

test("chart: what was loaded for a view is enough for it", () => {
  const full = { from: 0, to: 100_000 };
  for (const view of [{ from: 0, to: 30_000 }, { from: 500, to: 700 }, { from: 60_000, to: 101_000 }, { from: -500, to: 99_000 }]) {
    const span = r.plan(view, full, 1) ?? full;
    ok(r.enough({ span, view: r.length(view), exact: false }, view, full), JSON.stringify(view));
  }
  const loaded = { span: { from: 0, to: 1000 }, view: 500, exact: false };
  ok(!r.enough(loaded, { from: 100, to: 300 }, full), "finer is to be had");
  ok(r.enough({ ...loaded, exact: true }, { from: 100, to: 300 }, full), "nothing finer exists");
  ok(!r.enough({ ...loaded, exact: true }, { from: 900, to: 1100 }, full), "further is to be had");
});

test("chart: pan and zoom stay with the run", () => {
  const full = { from: 0, to: 1000 };
  equal(r.pan({ from: 100, to: 200 }, 0.5, full), { from: 150, to: 250 });
  equal(r.pan({ from: 100, to: 200 }, -9, full), { from: -5, to: 95 });
  equal(r.pan({ from: 800, to: 900 }, 9, full), { from: 905, to: 1005 });
  equal(r.zoom({ from: 400, to: 600 }, 0.5, full, 1), { from: 450, to: 550 });
  equal(r.zoom({ from: 0, to: 600 }, 2, full, 1), full);
  equal(r.zoom({ from: 499, to: 501 }, 0.1, full, 1), { from: 496, to: 504 });
  ok(r.showsAll(r.zoom(full, 2, full, 1), full), "no further out than all");
});

test("chart: a moment is brought into view, near enough to be told apart", () => {
  const full = { from: 0, to: 100_000 };
  equal(r.reveal({ from: 100, to: 300 }, 200, full, 1), { from: 100, to: 300 });
  equal(r.reveal({ from: 100, to: 300 }, 5000, full, 1), { from: 4900, to: 5100 });
  equal(r.reveal(full, 5000, full, 1), { from: 4900, to: 5100 });
  ok(r.reveal(full, 10, full, 1).from <= 10, "at the begin");
});

test("chart: a stretch is kept in the address to the minute, days without their midnight", () => {
  const of = (text: string) => r.spoken(new URLSearchParams(text));
  const day = Date.UTC(2024, 0, 2), view = { from: day, to: day + 90 * 60_000 + 12_345 };
  equal(r.words(view), { from: "2024-01-02", to: "2024-01-02T01:30Z" });
  equal(of(String(new URLSearchParams(r.words(view)))), { from: day, to: day + 90 * 60_000 });
  equal(r.words(null), { from: "", to: "" });
  for (const none of ["", "from=2024-01-02", "from=2024-01-02&to=2024-01-01", "from=x&to=y"]) equal(of(none), null, none);
});
