// U6: paper runs on the simulated market: from the form, while candles, fills and positions
// come, through stop dialog and stopping phase.
import assert from "node:assert/strict";
import { alarming, withoutPaper } from "../lib/venue.mjs";
import { says, until } from "../lib/wait.mjs";

export default async function paper(t) {
  const service = await t.service({ names: ["sma_cross", "sleeper"] });

  await t.test("modes that nobody offers are disabled with the reason", async () => {
    const front = await t.proxy(service.url, { json: withoutPaper() });
    const visit = await t.visit(front.url);
    for (const name of ["Paper", "Live"]) {
      const mode = visit.form.getByRole("radio", { name });
      await until(() => mode.isDisabled(), `${name} to be disabled`);
      const why = await mode.evaluate((e) => document.getElementById(e.getAttribute("aria-describedby"))?.textContent ?? "");
      assert.match(why, /exchange/i, name);
    }
  });

  await t.test("the settings of an exchange come from its schema, without credentials", async () => {
    const visit = await onPaper(t, service.url);
    await visit.form.getByText(/Choose an exchange to see its settings/).waitFor();
    assert.equal(await visit.form.getByText("Exchange settings").count(), 0);
    await settings(visit, "sim");
    assert.deepEqual(await choices(visit, "Market"), ["synthetic (default)", "synthetic", "replay"]);
    for (const label of ["Seed", "Candles per second", "Start", "Cash", "Source", "Sandbox", "Rate limit"]) assert.ok((await visit.field(label).count()) > 0, label);
    assert.equal(await visit.field("Start").evaluate((e) => e.tagName), "INPUT", "a moment is no JSON");
    await settings(visit, "sample");
    assert.deepEqual(await choices(visit, "Market"), ["replay (default)", "replay"]);
    assert.equal(await visit.form.locator("input[type=password]").count(), 0);
    assert.equal(await visit.field("To confirm").count(), 0);
    await visit.fill({ "Candles per second": "1000" });
    await visit.startButton.press("Enter");
    await visit.form.getByRole("alert").getByText(/Candles per second/).waitFor();
    assert.equal(visit.watch.requests.some(({ line }) => line.startsWith("POST")), false, "nothing is sent");
  });

  await t.test("a run from the form: its candles, fills, positions and equity are those of the service", async () => {
    await service.clear();
    const visit = await onPaper(t, service.url);
    await visit.fill({ strategy: "sma_cross", "Fast average": "3", "Slow average": "8", Timeframe: "1m" });
    await settings(visit, "sim");
    await visit.fill({ "Candles per second": "100", Seed: "u6" });
    await visit.startButton.click();
    await visit.says("running · paper");
    const [post] = visit.watch.requests.filter(({ line }) => line === "POST /api/v1/run/live");
    const body = post.request.postDataJSON();
    assert.deepEqual([body.mode, body.exchange, body.exchange_config], ["paper", "sim", { candles_per_second: 100, seed: "u6" }]);
    await progress(visit).getByText("trading", { exact: true }).waitFor();
    const header = visit.page.locator(".header");
    await until(async () => (await header.getByRole("button", { name: "Stop" }).count()) === 1 && (await header.locator(".badge").count()) >= 7, "the header of a run");
    assert.ok((await header.evaluate((e) => e.offsetHeight)) < 48, "the header is one line on a laptop");
    await progress(visit).getByText(/last candle closed 2025-01-01 .* UTC by the venue's clock, came \d+ s ago/).waitFor();
    await grows(visit, service);
    await visit.open("Positions");
    const seen = await positions(visit);
    await until(async () => (await positions(visit)) !== seen, "the positions to move");
    assert.doesNotMatch(await visit.page.evaluate(() => JSON.stringify({ ...localStorage })), /u6|candles_per_second/, "settings of an exchange are not stored");
    await service.call("POST", "/run/stop");
    await visit.says("completed");
    const results = await service.results();
    await visit.agrees(results);
    await until(async () => (await visit.drawn()).points >= Math.min(500, results.config.window.candles), "all candles of the ended run");
  });

  await t.test("a page that is opened during a run has all that was before", async () => {
    await begin(service, "sma_cross", { strategy_params: { fast: 3, slow: 8 } });
    await until(async () => (await service.status()).trade_count > 5, "some trades");
    const visit = await t.visit(service.url);
    await visit.says("running · paper");
    await grows(visit, service);
  });

  await t.test("alarms are warnings while the run goes on", async () => {
    await begin(service, "sma_cross", { config: { candles_per_second: 2 } }); // no limit is reached in between
    const front = await t.proxy(service.url, { frame: alarming("the venue has no candle of 00:07") });
    const visit = await t.visit(front.url);
    await visit.says("running · paper");
    await visit.bar("warnings").getByText("CANDLE_MISSING").waitFor();
    await says(visit.bar("warnings"), /the venue has no candle of 00:07/);
    await visit.bar("warnings").getByRole("button").click();
    await visit.page.getByRole("tabpanel", { name: "Evidence" }).getByText("CANDLE_MISSING").waitFor();
  });

  await t.test("the limits of risk watch a paper run and say that they block nothing", async () => {
    await begin(service, "sma_cross", { strategy_params: { fast: 3, slow: 8 } });
    const visit = await t.visit(service.url);
    const bar = visit.bar("warnings");
    await bar.getByText(/Nothing is blocked: in this paper run the limits only watch/).waitFor();
    await says(bar, /[A-Z]+_[A-Z_]+/);
    const trades = (await service.status()).trade_count;
    await until(async () => Number((await visit.tiles()).total_trades.value) > trades, "more trades");
    assert.equal((await service.status()).phase, "trading");
    await visit.open("Evidence");
    await visit.page.getByText("DAILY_LOSS_EXCEEDED").first().waitFor();
    await visit.page.getByRole("heading", { name: "Risk limits" }).waitFor();
  });

  await t.test("the stop asks first: orders, positions and what becomes of them", async () => {
    await begin(service, "sleeper", { strategy_params: { sleep_ms: 0 }, config: { candles_per_second: 40 } });
    const visit = await t.visit(service.url);
    await visit.says("running · paper");
    await until(async () => (await service.status()).trade_count > 0, "a trade");
    await visit.button("Stop").click();
    const dialog = visit.page.getByRole("dialog", { name: "Stop the paper run?" });
    await dialog.getByText("entries are cancelled. Positions stay open, with the exits that protect them.").waitFor();
    await dialog.getByRole("heading", { name: /^Open orders/ }).waitFor();
    await dialog.getByText(/^long .* BTC\/USDT at /).waitFor();
    assert.ok(await dialog.getByRole("button", { name: "Keep running" }).evaluate((e) => e === document.activeElement), "the harmless answer has the focus");
    await visit.page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.equal((await service.status()).status, "running");
    await visit.button("Stop").click();
    await dialog.getByRole("button", { name: "Stop the run" }).click();
    await visit.says("completed");
    const results = await service.results();
    assert.deepEqual([results.stop_reason, results.partial], ["stopped", true]);
    await visit.bar("partial").getByText(/evidence for/).waitFor();
    assert.equal(await visit.page.getByText(/not evidence/).count(), 0, "a paper run has no end to miss");
    await visit.page.getByRole("region", { name: "Outcome" }).getByText("stopped", { exact: true }).waitFor();
    await visit.agrees(results);
  });

  await t.test("the stopping phase is shown until the run has ended", async () => {
    // A strategy that sleeps does not hear of the stop: it is killed after a second. It sleeps for longer than the
    // 5 s that a step may take, and is stopped before they are over: the page is there when it begins.
    await service.clear();
    const visit = await t.visit(service.url);
    await visit.stream("connected");
    await visit.page.evaluate(() => {
      globalThis.said = new Set();
      new MutationObserver(() => {
        for (const e of document.querySelectorAll("header button, [aria-label=Progress] span")) said.add(e.textContent.trim());
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    await service.paper("sleeper", { strategy_params: { sleep_ms: 25_000 } });
    await progress(visit).getByText("trading", { exact: true }).waitFor();
    await visit.button("Stop").click();
    await visit.page.getByRole("dialog").getByRole("button", { name: "Stop the run" }).click();
    await visit.says("completed");
    const said = await visit.page.evaluate(() => [...globalThis.said]);
    assert.ok(said.some((text) => text.startsWith("Stopping…")), `no button said so: ${said}`);
    assert.ok(said.includes("stopping"), `no phase said so: ${said}`);
    await visit.page.getByRole("region", { name: "Outcome" }).getByText(/was killed/).waitFor();
  });
}

const progress = (visit) => visit.page.getByRole("region", { name: "Progress" });
const positions = async (visit) => visit.page.getByRole("tabpanel", { name: "Positions" }).innerText();

/** A run, whatever the test before has left behind. */
async function begin(service, strategy, options) {
  await service.clear();
  await service.paper(strategy, options);
}

async function onPaper(t, url) {
  const visit = await t.visit(url);
  await visit.stream("connected");
  await visit.form.getByRole("radio", { name: "Paper" }).check();
  await visit.form.getByText(/credentials are not needed/).waitFor();
  return visit;
}

/** Chooses an exchange and unfolds what can be set about it. */
async function settings(visit, id) {
  await visit.form.getByRole("combobox", { name: "Exchange", exact: true }).selectOption(id);
  const fold = visit.form.locator("details", { hasText: "Exchange settings" });
  await fold.waitFor();
  if (!(await fold.evaluate((e) => e.open))) await fold.locator("summary").click();
}

const choices = (visit, label) => visit.form.getByRole("combobox", { name: label }).evaluate((e) => [...e.options].map((o) => o.textContent));

/** Waits until the page has what the service had before, and then more of it. */
async function grows(visit, service) {
  const before = await until(async () => {
    const now = await service.get("/status/detailed", { Prefer: "points=2, rows=1" });
    return now.rows_total.fills > 4 && now;
  }, "some fills");
  await until(async () => (await visit.drawn()).fills >= before.rows_total.fills, "the fills on the chart");
  await until(async () => (await visit.drawn()).points >= Math.min(500, before.candles_done), "every candle on the chart");
  await until(async () => Number((await visit.tiles()).total_trades.value) >= before.trade_count, "the trades");
  const [tiles, drawn] = [await visit.tiles(), await visit.drawn()];
  await until(async () => {
    const [now, then] = [await visit.tiles(), await visit.drawn()];
    return now.value.value !== tiles.value.value && then.to > drawn.to && then.fills > drawn.fills && then.equityPoints > 0;
  }, "candles, fills and equity to move on");
}
