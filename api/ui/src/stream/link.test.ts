import { equal, ok, test } from "../testing.ts";
import type { Health, Results, Status } from "../api/types.ts";
import { serviceTime } from "../state/clock.ts";
import { connectingSource, source, Unavailable } from "../state/source.ts";
import * as store from "../state/store.ts";
import { emptyPage, FakeEnv, frame, hello, running, snapshot, trades, update } from "./fake.ts";
import { Link } from "./link.ts";

async function setup(prepare: (env: FakeEnv) => void = () => {}) {
  emptyPage();
  const env = new FakeEnv(), seen = { restarts: 0 };
  prepare(env);
  const link = new Link(env, { restarted: () => seen.restarts++ });
  link.start();
  await env.pass(0);
  return { env, link, seen };
}

/** A page that is connected to a server on which nothing runs. */
async function connected(status: Status = store.idle) {
  const all = await setup();
  all.env.status = status;
  all.env.wire.says(hello(3), snapshot(3, status));
  await all.env.pass(20);
  return all;
}

const state = () => store.connection.value.state;

function resultsOf(run_id: string): Results {
  return {
    run_id, status: "completed", config: { strategy_name: "sma" }, orders: [], fills: [], trades: trades(3, 3).reverse(), positions: [],
    equity_curve: [{ timestamp: "1970-01-01T00:00:05.000Z", equity: 7, cash: 6, position_value: 1, drawdown: 0.5, exposure: 0 }],
    equity_curve_sampling: { method: "none", points: 1, of: 1 }, rows_total: { orders: 0, fills: 0, trades: 3 },
    performance_metrics: { sharpe_ratio: 1 }, performance_metrics_undefined: [], metrics_meta: {}, assumptions: [], warnings: [],
  } as unknown as Results;
}

test("hello and snapshot make the page live", async () => {
  const { env } = await connected(running());
  equal([state(), store.hello.value?.server_id, store.status.value.run_id], ["live", "a", "svc_1"]);
  equal(env.wire.asked("run"), 1, "the config is asked for");
  const id = env.wire.sent.find((m) => m.type === "run")?.payload.id;
  env.wire.says(frame("run_result", 3, { id, config: { strategy_name: "sma" }, annotations: ["fast"] }));
  await env.pass(20);
  equal([store.config.value?.strategy_name, store.annotations.value], ["sma", ["fast"]]);
});

test("a run from its start to its results", async () => {
  const { env } = await connected();
  const generation = store.generation.value;
  env.status = { ...running(), status: "completed", progress: 1, trade_count: 3 };
  env.wire.says(update(4, "running", "svc_1"), frame("progress", 5, { progress: 0.5 }), frame("trade", 6, { items: trades(1, 1), omitted: 0 }));
  await env.pass(20);
  equal([store.status.value.progress, store.recent.value.total.trades, store.generation.value - generation], [0.5, 1, 1]);
  equal(env.wire.asked("snapshot"), 1, "what the frames do not tell is asked for");
  env.wire.says(update(7, "completed", "svc_1"));
  await env.pass(300);
  equal([store.status.value.status, store.results.value, env.calls.results], ["completed", null, 1], "results not ready");
  env.results = resultsOf("svc_1");
  await env.pass(600);
  equal([store.status.value.progress, store.config.value?.strategy_name, store.recent.value.trades.map((t) => t.trade_id)],
    [1, "sma", ["t-000003", "t-000002", "t-000001"]]);
  equal([store.equity.value, store.report.value.metrics?.sharpe_ratio, store.recent.value.total.trades], [[[5000, 7, 6, 0.5]], 1, 3]);
  env.wire.says(frame("trade", 8, { items: trades(2, 1), omitted: 0 }), snapshot(8, env.status));
  await env.pass(9000);
  equal([env.calls.results, store.recent.value.trades.length], [2, 3], "once a run");
});

test("a lost frame is repaired by a snapshot, asked for once", async () => {
  const { env } = await connected(running());
  env.wire.says(frame("progress", 5, { progress: 0.5 }), frame("progress", 6, { progress: 0.6 }));
  await env.pass(1500);
  equal([store.status.value.progress, env.wire.asked("snapshot")], [0.1, 1]);
  await env.pass(3000);
  equal(env.wire.asked("snapshot"), 2, "again when it does not come");
  env.wire.says(snapshot(5, { ...running(), progress: 0.5 }));
  await env.pass(20);
  equal(store.status.value.progress, 0.6);
});

test("quiet during a run is looked into", async () => {
  const { env } = await connected(running());
  await env.pass(3500);
  equal(env.wire.asked("rows"), 1);
  env.wire.says(frame("progress", 4, { progress: 0.2 }));
  await env.pass(3500);
  equal(env.wire.asked("rows"), 2, "again after the next quiet");
  const id = env.wire.sent.find((m) => m.type === "rows")?.payload.id;
  env.wire.says(frame("rows_result", 5, { id, items: [], of: 0 }));
  equal(env.wire.asked("snapshot"), 1, "the answer shows a loss");
  await env.pass(20_000);
  equal([env.wires[0]!.open, state() !== "live"], [false, true], "no answer at all: the connection is dead");
});

test("what is not in the status is as old as the stream's last word", async () => {
  const { env } = await connected(running());
  await env.pass(2500);
  const at = env.time;
  env.wire.says({ ...frame("heartbeat", 4), timestamp: "2026-11-20T12:00:07.000Z" });
  await env.pass(20);
  equal([store.connection.value.lastFrame, store.connection.value.lastData, store.asOf.value], [at, at, "2026-11-20T12:00:07.000Z"]);
  equal(serviceTime(at), Date.parse("2026-11-20T12:00:07.000Z"), "its clock is known");
  env.wire.breaks();
  await env.pass(100);
  ok(store.connection.value.lastData > at && store.connection.value.lastFrame === at, "the status was asked for");
  const end = env.time;
  await env.pass(500);
  env.wire.says(hello(9));
  await env.pass(20);
  ok(store.connection.value.lastFrame === at, "a greeting says nothing of the run");
  env.wire.says(snapshot(9, running("svc_2")));
  await env.pass(20);
  ok(store.connection.value.lastFrame > end, "a snapshot does");
});

test("a stream that breaks comes back", async () => {
  const { env } = await connected();
  await env.pass(6000);
  env.wire.breaks(4008);
  await env.pass(0);
  equal([state(), store.connection.value.retryAt], ["reconnecting", env.time + 500]);
  await env.pass(500);
  env.wire.says(hello(9), snapshot(9));
  await env.pass(20);
  equal([state(), env.wires.length], ["live", 2]);
});

test("a connection without a word is given up", async () => {
  const { env } = await setup();
  await env.pass(7000);
  equal([env.wires[0]!.open, env.wires.length], [false, 2]);
  env.wire.says(hello());
  await env.pass(4000);
  equal([env.wire.open, env.wire.asked("snapshot")], [true, 1], "the first snapshot is asked for again");
  await env.pass(13_000);
  equal(env.wires[1]!.open, false);
});

test("no heartbeat: the connection is given up", async () => {
  const { env } = await connected();
  await env.pass(34_000);
  equal(state(), "live");
  await env.pass(3_000);
  ok(env.wires[0]!.open === false && env.wires.length === 2, "another connection");
});

test("a blocked stream leads to polling, and the stream is tried again", async () => {
  const { env } = await setup((e) => (e.status = running()));
  for (let i = 0; i < 3; i++) {
    env.wire.breaks();
    await env.pass(i < 2 ? 1000 : 0);
  }
  equal([state(), env.wires.length, store.status.value.status], ["polling", 3, "running"]);
  const asked = env.calls.status;
  env.status = { ...running(), progress: 0.7 };
  await env.pass(4000);
  equal([env.calls.status - asked, store.status.value.progress], [2, 0.7]);
  env.status = { ...running(), status: "completed" };
  env.results = resultsOf("svc_1");
  await env.pass(2000);
  equal((await source.value.rows("trades", 1, 5)).items.map((t) => t.trade_id), ["t-000002", "t-000001"]);
  equal((await source.value.series({ series: "equity" })).points, [[5000, 7, 6, 0.5]]);
  ok(await source.value.series({ series: "candles" }).then(() => false, (e) => e instanceof Unavailable), "no candles");
  await env.pass(10_000);
  equal(env.wires.length, 4, "the stream is tried");
  env.wire.says(hello(1), snapshot(1, env.status));
  await env.pass(20);
  equal(state(), "live");
  const before = env.calls.status;
  await env.pass(10_000);
  equal(env.calls.status, before, "no more polling");
});

test("a stream that never lasts is polled instead", async () => {
  const { env } = await connected();
  for (let i = 0; i < 3; i++) {
    env.wire.breaks();
    await env.pass(1100);
    if (i < 2) env.wire.says(hello(3), snapshot(3));
    await env.pass(20);
  }
  equal(state(), "polling");
});

test("a service that is gone is down, and its data stay", async () => {
  const { env } = await connected(running());
  env.status = null;
  env.wire.breaks();
  await env.pass(0);
  equal([state(), store.status.value.run_id, store.connection.value.retryAt > env.time], ["down", "svc_1", true]);
  const wires = env.wires.length;
  await env.pass(60_000);
  equal(env.wires.length, wires, "no stream is tried while nobody answers");
  ok(env.calls.status >= 5 && env.calls.status < 12, `${env.calls.status} attempts in a minute`);
  env.status = store.idle;
  await env.pass(15_000);
  ok(state() === "reconnecting" && env.wires.length > wires, "the stream is tried");
});

test("results wait for a service that is away", async () => {
  const { env } = await connected(running());
  env.status = null;
  env.wire.says(update(4, "completed", "svc_1"));
  await env.pass(20);
  env.wire.breaks();
  await env.pass(20_000);
  equal(env.calls.results, 0);
  env.status = { ...running(), status: "completed" };
  env.results = resultsOf("svc_1");
  await env.pass(15_000);
  equal([env.calls.results, store.results.value?.run_id], [1, "svc_1"]);
});

test("results that cannot be read are named, and read when asked for", async () => {
  const { env, link } = await connected(running());
  env.status = { ...running(), status: "completed" };
  env.wire.says(update(4, "completed", "svc_1"));
  await env.pass(20_000);
  equal([store.resultsProblem.value?.code, store.results.value], ["NETWORK", null]);
  env.results = resultsOf("svc_1");
  link.readResults();
  await env.pass(0);
  equal([store.resultsProblem.value, store.results.value?.run_id], [null, "svc_1"]);
});

test("retrying by hand does not wait", async () => {
  const { env, link } = await connected();
  env.status = null;
  env.wire.breaks();
  await env.pass(20_000);
  env.status = store.idle;
  link.retryNow();
  equal(store.connection.value.retryAt, 0);
  await env.pass(0);
  equal([state(), env.wires.length], ["reconnecting", 2]);
  link.retryNow();
  equal(env.wires.length, 2, "an attempt is under way");
});

test("another server is noticed, and its run is another one even under the same id", async () => {
  const { env, seen } = await connected(running());
  env.wire.says(frame("trade", 4, { items: trades(2, 2), omitted: 0 }));
  await env.pass(20);
  const generation = store.generation.value;
  env.wire.breaks();
  await env.pass(600);
  env.wire.says(hello(0, "b"));
  await env.pass(20);
  equal(store.recent.value.trades.length, 2, "shown until the snapshot comes");
  env.wire.says(snapshot(0, running()));
  await env.pass(20);
  equal([store.notice.value, seen.restarts, store.recent.value.trades.length, store.generation.value - generation], ["The service restarted.", 1, 0, 1]);
});

test("a restart names the run that it took along", async () => {
  const { env } = await connected(running());
  await env.pass(6000);
  env.wire.breaks();
  await env.pass(600);
  env.wire.says(hello(0, "b"), snapshot(0, store.idle));
  await env.pass(20);
  equal(store.notice.value, "The service restarted. Run svc_1 was lost.");
  store.notice.value = "";
  env.wire.says(update(1, "running", "svc_2"));
  await env.pass(20);
  env.wire.says(update(2, "idle", ""));
  await env.pass(20);
  equal(store.notice.value, "", "no restart, no loss");
});

test("a shutdown is said, and its wait is kept", async () => {
  const { env } = await connected();
  env.wire.says(frame("server_shutdown", 4, { reconnect_after_ms: 3000 }));
  await env.pass(20);
  equal(store.notice.value, "The service is shutting down.");
  env.wire.breaks(1001);
  await env.pass(0);
  equal(store.connection.value.retryAt, env.time + 3000);
  env.status = null;
  await env.pass(3000);
  env.wire.breaks();
  await env.pass(0);
  equal([state(), store.notice.value], ["down", ""]);
});

test("polling notices a restart by the service's age", async () => {
  const health = (at: string, uptime_seconds: number) => ({ timestamp: at, metrics: { uptime_seconds } }) as Health;
  const { env, seen } = await setup((e) => (e.health = health("2026-01-01T00:00:50.000Z", 40)));
  for (let i = 0; i < 3; i++) {
    env.wire.breaks();
    await env.pass(1000);
  }
  env.health = health("2026-01-01T00:01:00.500Z", 50);
  await env.pass(12_000);
  equal(seen.restarts, 0);
  env.health = health("2026-01-01T00:02:00.000Z", 3);
  await env.pass(12_000);
  equal([seen.restarts, store.notice.value], [1, "The service restarted."]);
  env.status = running();
  await env.pass(2_000);
  env.status = store.idle;
  env.health = health("2026-01-01T00:03:00.000Z", 1);
  await env.pass(12_000);
  equal([seen.restarts, store.notice.value], [2, "The service restarted. Run svc_1 was lost."]);
});

test("what an action was answered is shown at once and not undone by it later", async () => {
  const { env, link } = await connected();
  link.adopt(running("svc_9"));
  const generation = store.generation.value;
  equal(store.status.value.run_id, "svc_9");
  env.wire.says(update(4, "running", "svc_9"), frame("progress", 5, { progress: 0.3 }));
  await env.pass(20);
  equal([store.status.value.progress, store.generation.value], [0.3, generation]);
});

test("the status comes first: a big snapshot on a slow line does not leave the page without an answer", async () => {
  const { env } = await setup((env) => (env.status = running()));
  equal([state(), store.known.value, store.status.value.status], ["connecting", true, "running"], "before the stream says a word");
  env.wire.says(hello(3), snapshot(3, running()));
  await env.pass(20);
  equal([state(), env.calls.status], ["live", 1]);
});

test("nothing is known while the service has not answered", async () => {
  await setup((env) => (env.status = null));
  equal(store.known.value, false);
});

test("before the stream is there questions wait for it instead of failing", async () => {
  const { env } = await setup((env) => (env.status = running()));
  source.value = connectingSource(null);
  let answer = "";
  source.value.series({ series: "candles" } as never).then(() => (answer = "points"), (e: Error) => (answer = e.message));
  source.value.rows("trades", 0, 10).then(() => (answer = "rows"), (e: Error) => (answer = e.message));
  await env.pass(100);
  equal(answer, "");
  env.wire.says(hello(3), snapshot(3, running()));
  await env.pass(20);
  equal([env.wire.asked("series"), env.wire.asked("rows"), answer], [1, 1, ""]);
});
