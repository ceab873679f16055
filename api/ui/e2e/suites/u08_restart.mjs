// U8: the service is killed during a run and started again. A backtest is lost with it;
// that a paper run comes back as RUN_INTERRUPTED waits for paper runs.
import assert from "node:assert/strict";
import { answered, broken } from "../lib/watch.mjs";
import { until } from "../lib/wait.mjs";

export default async function restart(t) {
  const service = await t.service({ names: ["sleeper", "sma_cross"] });

  await t.test("killed and restarted: the data stay, the page comes back, nothing typed is lost", async () => {
    const visit = await t.visit(service.url, { allow: [broken, answered(409)] });
    await visit.stream("live");
    await visit.fill({ strategy: "sma_cross", "Fast average": "11", From: "2023-01-01", Cash: "1234" });
    await service.backtest("sleeper", { strategy_params: { sleep_ms: 5 } });
    await visit.says("running");
    await until(async () => Number((await visit.tiles()).total_trades.value) > 0, "a trade");

    await service.end("SIGKILL");
    const bar = visit.bar("down");
    await bar.getByText(/The service does not answer/).waitFor();
    await bar.getByText(/Trying again/).waitFor();
    await bar.getByText(/Last data \d+ s ago/).waitFor();
    const kept = await visit.tiles();
    assert.ok(Number(kept.total_trades.value) > 0, "the numbers stay");
    await visit.page.locator("main[data-stale]").waitFor({ timeout: 15_000 }); // grey after 5 s
    assert.deepEqual(await visit.tiles(), kept);
    assert.match(await visit.startButton.getAttribute("aria-disabled"), /true/);

    await service.begin();
    await visit.button("Retry now").click({ timeout: 1000 }).catch(() => {}); // it may have come back by itself
    await visit.stream("live");
    await visit.bar("notice").getByText("The service restarted.").waitFor();
    await visit.says("idle");
    await bar.waitFor({ state: "detached" });
    for (const [label, text] of [["Fast average", "11"], ["From", "2023-01-01"], ["Cash", "1234"]]) assert.equal(await visit.field(label).inputValue(), text, label);
    await visit.startButton.click();
    await visit.says("completed");
    const results = await service.results();
    assert.equal(results.config.initial_cash, 1234);
    await visit.agrees(results);
  });

  await t.test("an ended run stays whole while the service is away", async () => {
    const front = await t.proxy(service.url);
    const visit = await t.visit(front.url, { allow: [broken] });
    await visit.agrees(await service.results());
    const [tiles, drawn] = [await visit.tiles(), await visit.drawn()];
    front.rules.dead = true;
    front.cut();
    await visit.bar("down").waitFor();
    await visit.page.locator("main[data-stale]").waitFor();
    assert.deepEqual(await visit.tiles(), tiles);
    assert.deepEqual(await visit.drawn(), drawn, "the chart is kept");
    assert.ok((await visit.rows("Trades")).length > 3, "the rows are kept");
  });

  await t.test("a polite end is announced, and the page waits for the next service", async () => {
    await service.clear();
    const visit = await t.visit(service.url, { allow: [broken] });
    await visit.stream("live");
    await service.end();
    await visit.bar("notice").getByText(/The service is shutting down/).or(visit.bar("down")).first().waitFor();
    await service.begin();
    await visit.stream("live");
    await visit.bar("notice").getByText("The service restarted.").waitFor();
    await visit.button("Dismiss").click();
    await visit.bar("notice").getByText("The service restarted.").waitFor({ state: "detached" });
  });

  await t.test("a stream that breaks comes back, and the numbers go on", async () => {
    const front = await t.proxy(service.url);
    const visit = await t.visit(front.url, { allow: [broken] });
    await visit.stream("live");
    await service.backtest("sleeper", { strategy_params: { sleep_ms: 2 } });
    await visit.says("running");
    front.rules.stream = "hang";
    front.cut();
    await visit.bar("reconnecting").getByText(/Last data \d+ s ago/).waitFor();
    front.rules.stream = "pass";
    front.cut();
    await visit.stream("live");
    const trades = (await visit.tiles()).total_trades.value;
    await until(async () => (await visit.tiles()).total_trades.value !== trades, "another number of trades");
    await service.call("POST", "/run/stop");
    await visit.says("completed");
    await visit.agrees(await service.results());
    await service.clear();
  });

  t.skip("a paper run that was cut short is RUN_INTERRUPTED until the reset", "the service has no paper runs yet");
}
