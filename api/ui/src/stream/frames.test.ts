import { equal, ok, test } from "../testing.ts";
import type { Health, Results } from "../api/types.ts";
import { idle } from "../state/store.ts";
import { frame, running, snapshot, trades, update } from "./fake.ts";
import { apply } from "./frames.ts";
import { blank, type Run } from "./run.ts";

const start = (): Run => apply(blank(idle, null), snapshot(1, running()));
const ids = (run: Run) => run.recent.trades.map((t) => t.trade_id);
const trade = (from: number, n: number, omitted = 0) => frame("trade", 0, { items: trades(from, n), omitted });
const order = (omitted: number, ...items: [number, string][]) =>
  frame("order", 0, { omitted, items: items.map(([n, status]) => ({ order_id: `o-${String(n).padStart(6, "0")}`, status })) });
const orders = (run: Run) => run.recent.orders.map((o) => `${Number(o.order_id.slice(2))} ${o.status}`);
const line = (message: string) => ({ time: null, level: "info", source: "plugin", message, fields: null });

test("progress becomes status, with the run time", () => {
  const run = apply(start(), frame("progress", 2, { progress: 0.64, value: 12, pnl: 2, trade_count: 3, unknown: 1 }));
  equal([run.status.progress, run.status.value, run.status.trade_count, run.status.runtime_seconds], [0.64, 12, 3, 1]);
  ok(!("unknown" in run.status), "fields of a status only");
  equal(apply(blank(idle, null), frame("progress", 2, { progress: 1 })).status.progress, idle.progress, "no run");
});

test("a status update of another run forgets the one before", () => {
  let run = apply(start(), trade(3, 3));
  run = apply(run, update(2, "completed", "svc_1"));
  equal([run.status.status, run.status.progress, run.recent.trades.length], ["completed", 0.1, 3]);
  run = apply(run, update(3, "running", "svc_2"));
  equal([run.status.run_id, run.status.start_time, run.recent.trades.length, run.recent.total.trades], ["svc_2", null, 0, 0]);
  run = apply(run, update(4, "idle", ""));
  equal(run.status.status, "idle");
});

test("trades come once, newest first, counted by their number", () => {
  let run = apply(start(), trade(2, 2));
  run = apply(run, trade(3, 2));
  equal([ids(run), run.recent.total.trades], [["t-000003", "t-000002", "t-000001"], 3]);
  run = apply(run, trade(400, 50, 347));
  equal([ids(run).length, ids(run).at(-1), run.recent.total.trades], [50, "t-000351", 400], "no hole in the list");
  run = apply(run, trade(360, 5));
  equal(ids(run).length, 50, "old ones change nothing");
  for (let n = 450; n <= 1000; n += 50) run = apply(run, trade(n, 50));
  equal([ids(run).length, ids(run)[0], run.recent.total.trades], [200, "t-001000", 1000]);
});

test("orders change in place; where some were left out only those that are sure stay", () => {
  let run = apply(start(), order(0, [2, "new"], [1, "filled"]));
  run = apply(run, order(0, [3, "new"], [2, "filled"]));
  equal(orders(run), ["3 new", "2 filled", "1 filled"]);
  run = apply(run, order(4, [9, "new"], [8, "filled"], [3, "canceled"]));
  equal([orders(run), run.recent.total.orders], [["9 new", "8 filled"], 9]);
});

test("positions are replaced, annotations collected", () => {
  let run = apply(start(), frame("position", 2, { items: [{ symbol: "A/B" }], omitted: 0 }));
  run = apply(run, frame("position", 3, { items: [], omitted: 0 }));
  equal(run.positions, []);
  for (const name of ["fast", "slow", "fast", 7]) run = apply(run, frame("annotation", 4, { name, points: [] }));
  equal(run.annotations, ["fast", "slow"]);
});

test("equity goes on behind what a snapshot had", () => {
  const point = { timestamp: "1970-01-01T00:00:01.000Z", equity: 1, cash: 1, position_value: 0, drawdown: 0, exposure: 0 };
  let run = apply(start(), snapshot(2, running(), { equity_curve: [point] }));
  run = apply(run, frame("equity", 3, { points: [[1000, 1, 1, 0], [2000, 2, 1, 0], "x", [1]] }));
  equal(run.equity, [[1000, 1, 1, 0], [2000, 2, 1, 0]]);
});

test("a snapshot of the same run keeps config, names and the longer log", () => {
  let run: Run = { ...start(), config: { strategy_name: "x" } as Run["config"], annotations: ["a"] };
  run = apply(run, frame("log", 2, { lines: [line("1"), line("2"), line("3")], suppressed: 0 }));
  run = apply(run, snapshot(3, running(), { log: [line("2"), line("3"), line("4")] }));
  equal([run.log.map((l) => l.message), run.config?.strategy_name, run.annotations], [["1", "2", "3", "4"], "x", ["a"]]);
  run = apply(run, frame("log", 4, { lines: [line("3"), line("4")], suppressed: 0 }));
  run = apply(run, frame("log", 5, { lines: [line("4"), line("5")], suppressed: 9 }));
  run = apply(run, frame("log", 6, { lines: [line("5")], suppressed: 0 }));
  equal(run.log.map((l) => l.message), ["1", "2", "3", "4", "5", "5"]);
  run = apply(run, snapshot(7, running("svc_2"), { log: [line("x")], config: { strategy_name: "y" }, annotations: ["b"] }));
  equal([run.log.map((l) => l.message), run.config?.strategy_name, run.annotations], [["x"], "y", ["b"]]);
});

test("a snapshot fills the holes of the log", () => {
  let run = apply(start(), frame("log", 2, { lines: [line("1"), line("2"), line("5")], suppressed: 0 }));
  run = apply(run, snapshot(3, running(), { log: [line("2"), line("3"), line("4"), line("5"), line("6")] }));
  equal(run.log.map((l) => l.message).join(""), "123456");
  run = apply(run, snapshot(4, running(), { log: [line("8"), line("9")] }));
  equal(run.log.map((l) => l.message).join(""), "12345689");
});

test("the log is bounded and names what is missing", () => {
  let run = start();
  for (let i = 0; i < 70; i++) run = apply(run, frame("log", 2, { lines: Array.from({ length: 20 }, (_, n) => line(`${i} ${n}`)), suppressed: i === 69 ? 5 : 0 }));
  equal([run.log.length, run.log.at(-1)?.message, run.log.at(-21)?.message], [1000, "69 19", "5 more lines are not shown here"]);
});

test("health merges the checks that changed", () => {
  const check = (status: string) => ({ status, message: "", checked_at: "" });
  const health = { status: "healthy", checks: { disk: check("pass"), runner: check("pass") } } as unknown as Health;
  const run = apply({ ...start(), health }, frame("health", 2, { status: "degraded", checks: { disk: check("warn") } }));
  equal([run.health?.status, run.health?.checks.disk.status, run.health?.checks.runner.status], ["degraded", "warn", "pass"]);
});

test("frames behind the results change nothing that the results say", () => {
  const ended = { ...start(), results: {} as Results };
  for (const f of [trade(5, 5), order(0, [1, "new"]), frame("equity", 2, { points: [[1, 1, 1, 0]] }), frame("position", 2, { items: [1] }), frame("progress", 2, { value: 9 })]) {
    equal(apply(ended, f), ended, f.type);
  }
});

test("broken and unknown frames change nothing", () => {
  const run = start();
  const broken = ["order", "fill", "trade", "equity", "annotation", "status_update", "snapshot", "health", "alarms", "toString", "constructor", "surprise"];
  for (const type of broken) {
    for (const payload of [{}, { items: null, points: 3, lines: "x", checks: [] }, { items: [null], points: [null], name: null, status: 7, run_id: 8 }]) {
      equal(apply(run, frame(type, 2, payload)), run, type);
    }
  }
});

test("alarms replace the list before", () => {
  const one = { id: "a-000001", code: "BALANCE_DRIFT", severity: "error" };
  let run = apply(start(), frame("alarms", 2, { alarms: [one] }));
  equal(run.status.alarms.map((a) => a.code), ["BALANCE_DRIFT"]);
  run = apply(run, frame("alarms", 3, { alarms: [] }));
  equal(run.status.alarms, []);
});

test("an alarm of a paper run is a warning at once, and once", () => {
  const alarm = (message: string, more = {}) => ({ time: null, level: "warn", source: "host", message, fields: { code: "CANDLE_MISSING" }, ...more });
  const said = (run: Run) => run.report.warnings.map((w) => `${w.code} ${w.message}`);
  let run = apply(start(), frame("log", 2, { lines: [alarm("of a backtest")], suppressed: 0 }));
  equal(said(run), []);
  run = apply(run, frame("status_update", 3, { status: "running", run_id: run.status.run_id, mode: "paper", phase: "trading" }));
  for (const lines of [[alarm("one"), line("two")], [alarm("one"), alarm("three"), alarm("four", { source: "plugin" }), alarm("five", { fields: null })]]) {
    run = apply(run, frame("log", 4, { lines, suppressed: 0 }));
  }
  equal(said(run), ["CANDLE_MISSING one", "CANDLE_MISSING three"]);
  const { report } = run;
  ok(apply(run, frame("log", 5, { lines: [line("six")], suppressed: 0 })).report === report, "nothing new, nothing to draw");
});
