// U15 for minutes: run after run, and the page holds no more than after the first ones.
import assert from "node:assert/strict";
import { runs } from "../lib/runs.mjs";
import { answered } from "../lib/watch.mjs";

const megabyte = 1024 * 1024;

export default async function soak(t) {
  const service = await t.service({ names: ["sma_cross", "sleeper"] });
  await t.test(`${t.config.soak} minutes of runs`, async () => {
    const visit = await t.visit(service.url, { allow: [answered(409)] });
    await visit.stream("connected");
    const before = await runs(visit, service, 10);
    let now = before, count = 10;
    for (const end = Date.now() + t.config.soak * 60_000; Date.now() < end; count += 10) now = await runs(visit, service, 10);
    const numbers = `${count} runs: ${JSON.stringify(before)} to ${JSON.stringify(now)}`;
    process.stderr.write(numbers + "\n");
    assert.ok(now.heap <= 80 * megabyte && now.heap <= before.heap + 5 * megabyte, numbers);
    for (const kind of ["nodes", "listeners"]) assert.ok(now[kind] <= before[kind] * 1.05 + 20, numbers);
  });
}
