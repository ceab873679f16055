// U8: the service is killed during a run and started again. A backtest is lost with it; a
// paper run comes back as RUN_INTERRUPTED, with what its journal has.
import assert from "node:assert/strict";
import { answered, broken } from "../lib/watch.mjs";
import { keeps, until } from "../lib/wait.mjs";

export default async function restart(t) {
  const service = await t.service({ names: ["sleeper", "sma_cross"] });

  await t.test("killed and restarted: the data stay, the page comes back, nothing typed is lost", async () => {
    const visit = await t.visit(service.url, { allow: [broken, answered(409)] });
    await visit.stream("connected");
    await visit.fill({ strategy: "sma_cross", "Fast average": "11", From: "2022-01-01", Cash: "1234" });
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
    await visit.stream("connected");
    await visit.bar("notice").getByText("The service restarted.").waitFor();
    await visit.says("idle");
    await bar.waitFor({ state: "detached" });
    for (const [label, text] of [["Fast average", "11"], ["From", "2022-01-01"], ["Cash", "1234"]]) await keeps(visit.field(label), text);
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
    await visit.stream("connected");
    await service.end();
    await visit.bar("notice").getByText(/The service is shutting down/).or(visit.bar("down")).first().waitFor();
    await service.begin();
    await visit.stream("connected");
    await visit.bar("notice").getByText("The service restarted.").waitFor();
    await visit.button("Dismiss").click();
    await visit.bar("notice").getByText("The service restarted.").waitFor({ state: "detached" });
  });

  await t.test("a stream that breaks comes back, and the numbers go on", async () => {
    const front = await t.proxy(service.url);
    const visit = await t.visit(front.url, { allow: [broken] });
    await visit.stream("connected");
    await service.backtest("sleeper", { strategy_params: { sleep_ms: 2 } });
    await visit.says("running");
    front.rules.stream = "hang";
    front.cut();
    await visit.bar("reconnecting").getByText(/Last data \d+ s ago/).waitFor();
    front.rules.stream = "pass";
    front.cut();
    await visit.stream("connected");
    const trades = (await visit.tiles()).total_trades.value;
    await until(async () => (await visit.tiles()).total_trades.value !== trades, "another number of trades");
    await service.call("POST", "/run/stop");
    await visit.says("completed");
    await visit.agrees(await service.results());
    await service.clear();
  });

  await t.test("a paper run that was cut short is RUN_INTERRUPTED until the reset, and nothing typed is lost", async () => {
    await service.clear();
    const { run_id } = await service.paper("sleeper", { strategy_params: { sleep_ms: 0 } });
    const visit = await t.visit(service.url, { allow: [broken] });
    await visit.says("running · paper");
    await visit.fill({ strategy: "sma_cross", "Fast average": "12", Cash: "4321" });
    await until(async () => (await service.status()).trade_count > 2 && Number((await visit.tiles()).total_trades.value) > 0, "trades");

    await service.end("SIGKILL");
    await visit.bar("down").getByText(/The service does not answer/).waitFor();
    assert.ok(Number((await visit.tiles()).total_trades.value) > 0, "the numbers stay");
    await service.begin();
    await back(visit);
    await interrupted(visit, run_id);
    await visit.bar("notice").getByText("The service restarted.").waitFor();
    const results = await service.results();
    assert.ok(results.rows_total.fills > 4 && results.positions.length < 2, "from the journal");
    await visit.agrees(results, { candles: false });
    await visit.page.getByText("The service has no candles of this run").waitFor();

    await service.end(); // a polite restart does not end it either
    await service.begin();
    await back(visit);
    await interrupted(visit, run_id);
    const late = await t.visit(service.url, { allow: [broken] });
    await interrupted(late, run_id);

    await visit.form.getByRole("button", { name: "Reset", exact: true }).click();
    const dialog = visit.page.getByRole("dialog", { name: "Reset the interrupted run?" });
    for (const text of [run_id, "Orders that the venue may or may not have"]) await dialog.getByText(text).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    assert.equal((await service.status()).status, "failed", "not without a yes");
    await visit.form.getByRole("button", { name: "Reset", exact: true }).click();
    await dialog.getByRole("button", { name: "Reset" }).click();
    for (const page of [visit, late]) await page.says("idle");
    for (const [label, text] of [["Fast average", "12"], ["Cash", "4321"]]) await keeps(visit.field(label), text);

    await service.end("SIGKILL");
    await service.begin();
    assert.equal((await service.status()).status, "idle", "what was reset does not come back");
  });
}

/** Waits until the page has found the service again. */
async function back(visit) {
  await visit.button("Retry now").click({ timeout: 1000 }).catch(() => {}); // it may have come back by itself
  await visit.stream("connected");
}

/** The red panel, naming the run and what is known of it. */
async function interrupted(visit, run_id) {
  await visit.says("failed · paper");
  await visit.page.getByRole("heading", { name: /RUN_INTERRUPTED/ }).waitFor();
  const panel = visit.page.locator(".failed"); // the configuration and the journal come after the status
  for (const part of [run_id, "of sleeper on BTC/USDT", "interrupted while trading", "Open orders", "Positions", "In the journal"])
    await panel.filter({ hasText: part }).waitFor();
}
