// U9: a proxy that lets no stream through. The page asks instead, and ends with the same numbers.
import assert from "node:assert/strict";
import { broken, answered } from "../lib/watch.mjs";
import { number } from "../lib/visit.mjs";
import { until } from "../lib/wait.mjs";

export default async function polling(t) {
  const service = await t.service({ names: ["sleeper", "sma_cross"] });
  const front = await t.proxy(service.url, { stream: "refuse" });

  await t.test("without a stream: polling, no candles, the same final numbers", async () => {
    const visit = await t.visit(front.url, { allow: [broken, answered(502)] });
    await visit.stream("polling");
    await visit.bar("polling").getByText(/asking every 2 s/).waitFor();
    await visit.fill({ strategy: "sleeper", "Sleep ms": "2", From: "2022-11-01" });
    await visit.startButton.click();
    await visit.says("running");
    const trades = (await visit.tiles()).total_trades.value;
    await until(async () => (await visit.tiles()).total_trades.value !== trades, "another number of trades");
    await visit.says("completed");
    const results = await service.results();
    await visit.agrees(results, { candles: false });
    await visit.page.getByText(/^No candles: /).waitFor();
    for (const [title, list] of [["Trades", results.trades], ["Orders", results.orders], ["Fills", results.fills]]) {
      await visit.open(title);
      await until(async () => number((await visit.tab(title).innerText()).replace(title, "")) === list.length, `${list.length} in ${title}`);
      await until(async () => (await visit.rows(title)).length > 3, title);
    }
    const asked = visit.watch.requests.filter(({ line }) => line === "GET /api/v1/results");
    assert.ok(asked.length >= 1);
    assert.equal(await asked[0].request.headerValue("prefer"), "points=2000, rows=500");
  });

  await t.test("when streams pass again the page goes back to them", async () => {
    front.rules.stream = "pass";
    const visit = await t.visit(front.url, { allow: [broken, answered(502)] });
    await visit.stream("connected");
    await visit.agrees(await service.results());
  });
}
