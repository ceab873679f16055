// U10: frames of the stream are dropped, doubled and delayed past each other. What stands
// on the page in the end is what /results says.
import assert from "node:assert/strict";
import { broken } from "../lib/watch.mjs";
import { number } from "../lib/visit.mjs";
import { until } from "../lib/wait.mjs";

export default async function frames(t) {
  const service = await t.service({ names: ["sleeper"] });
  const visits = [];
  for (const [name, frame] of [["a bad proxy", bad(1)], ["another bad proxy", bad(2)], ["a proxy that passes heartbeats only", heartbeats]]) {
    visits.push([name, await visit(t, service, frame)]);
  }
  await service.backtest("sleeper", { strategy_params: { sleep_ms: 2 }, start_date: "2024-03-01" });
  await service.reaches("completed");
  const results = await service.results();
  for (const [name, { visit, lost }] of visits) {
    await t.test(`after ${name} the page equals /results`, async () => {
      await visit.says("completed", 40_000);
      assert.ok(lost.frames > 3, `only ${lost.frames} frames were lost`);
      await equals(visit, results);
    });
  }
}

async function visit(t, service, frame) {
  const lost = { frames: 0 };
  const front = await t.proxy(service.url, {
    frame: (message) => {
      const sent = frame(message);
      if (!sent.length) lost.frames++;
      return sent;
    },
  });
  const visit = await t.visit(front.url, { allow: [broken] });
  visit.kept = true;
  await visit.stream("connected");
  return { visit, lost };
}

async function equals(visit, results) {
  await visit.agrees(results);
  for (const [title, list] of [["Trades", results.trades], ["Orders", results.orders], ["Fills", results.fills], ["Positions", results.positions]]) {
    await visit.open(title);
    await until(async () => number((await visit.tab(title).innerText()).replace(title, "")) === list.length, `${list.length} in ${title}`);
    if (list.length) await until(async () => (await visit.rows(title)).some((row) => row.length > 0 && row[0] !== "…"), title);
  }
}

/** Answers to what the page asks are no broadcasts: no proxy that forwards TCP loses them alone. */
const isReply = ({ type }) => ["hello", "snapshot", "series_result", "rows_result", "run_result", "error"].includes(type);

/** Only that the connection lives, and where the numbering of the lost frames stands. */
const heartbeats = (message) => (isReply(message) || message.type === "heartbeat" ? [[0, message]] : []);

function bad(seed) {
  const random = generator(seed);
  return (message) => {
    if (isReply(message)) return [[0, message]];
    const dice = random();
    if (dice < 0.25) return [];
    if (dice < 0.5) return [[0, message], [Math.round(random() * 200), message]];
    if (dice < 0.75) return [[Math.round(random() * 1500), message]];
    return [[0, message]];
  };
}

/** The same numbers in every run. */
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
