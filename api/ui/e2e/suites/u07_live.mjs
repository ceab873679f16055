// U7: real money. The exchange is the bundled one, which a proxy lets look as if it took
// live orders; the service itself refuses the start, which is one of the answers after
// which no trace of the credentials may be left. What a live run looks like is seen on the
// simulated market, which takes live orders without real money.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { withLive, withRisk } from "../lib/venue.mjs";
import { answered } from "../lib/watch.mjs";
import { says, until } from "../lib/wait.mjs";

export default async function live(t) {
  const service = await t.service({ names: ["sma_cross"] });
  const front = await t.proxy(service.url, { json: withLive(), frame: withRisk });

  await t.test("the form spells out real money, exchange, symbols and limits in a red frame", async () => {
    const { visit, money } = await open(t, front);
    const text = await money.innerText();
    for (const part of ["real money", "Bundled sample candles", "Moving average crossover", "Fast average 10 candles", "BTC/USDT", "250 USDT per order", "10\u202f% of the peak", "When stopped"]) assert.ok(text.toLowerCase().includes(part.toLowerCase()), `${part} is not in\n${text}`);
    const red = await visit.page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--down"));
    const frames = await money.evaluate((e, red) => {
      const probe = document.createElement("i");
      probe.style.color = red;
      document.body.append(probe);
      const want = getComputedStyle(probe).color;
      probe.remove();
      const coloured = (e) => ["Top", "Left"].some((side) => getComputedStyle(e)[`border${side}Color`] === want && parseFloat(getComputedStyle(e)[`border${side}Width`]) >= 1);
      for (let at = e; at; at = at.parentElement) if (coloured(at)) return true;
      return false;
    }, red);
    assert.equal(frames, true, "no red frame");
    assert.equal(await visit.field("Cash").count(), 0, "a live run has no cash of its own");
    const terms = await money.locator(".terms dt").allInnerTexts(), first = terms.findIndex((t) => /^Max|^Burst/.test(t));
    assert.match(terms[first], /^Max (daily loss|drawdown)/, "what can be lost is read first: " + terms);
    for (const label of ["API key", "API secret"]) {
      assert.deepEqual(await visit.field(label).evaluate((e) => [e.type, e.autocomplete]), ["password", "off"], label);
    }
  });

  await t.test("after a reload the form is one that can be started", async () => {
    const { visit } = await open(t, front);
    await visit.form.getByRole("combobox", { name: "Exchange" }).selectOption("sim"); // has no backtest
    await visit.page.reload();
    await visit.stream("connected");
    assert.equal(await visit.form.getByRole("radio", { name: "Backtest" }).isChecked(), true);
    assert.equal(await visit.form.getByRole("combobox", { name: "Exchange" }).inputValue(), "", "the exchange of the mode before is not kept");
    assert.equal(await visit.form.getByText(/^Look at:/).count(), 0);
    assert.notEqual(await visit.startButton.getAttribute("aria-disabled"), "true");
  });

  await t.test("a wrong confirmation is refused, and nothing is sent", async () => {
    const { visit } = await open(t, front);
    await credentials(visit, canary(), canary());
    for (const wrong of ["", "LIVE", "live sample", "LIVE binance", "LIVE sample!"]) {
      await visit.field("To confirm").fill(wrong);
      await visit.startButton.press("Enter");
      await visit.field("To confirm").press("Control+Enter");
      await until(async () => (await visit.field("To confirm").getAttribute("aria-invalid")) === "true", `${JSON.stringify(wrong)} to be refused`);
    }
    assert.equal(visit.watch.requests.some(({ line }) => line.startsWith("POST")), false);
  });

  await t.test("whatever changes what was confirmed asks for it anew", async () => {
    const { visit } = await open(t, front);
    const confirmation = visit.field("To confirm");
    for (const change of [
      () => visit.fill({ "Fast average": "11" }), () => visit.fill({ Timeframe: "4h" }), () => visit.button("Remove BTC/USDT").click(), () => visit.fill({ Subaccount: "x" }),
    ]) {
      await confirmation.fill("LIVE sample");
      await change();
      assert.equal(await confirmation.inputValue(), "", String(change));
    }
  });

  await t.test("after the answer no trace of the credentials is left", async () => {
    const { visit } = await open(t, front, [answered(400)]);
    const [key, secret] = [canary(), canary()];
    await credentials(visit, key, secret);
    assert.notDeepEqual(await inHeap(visit, [key, secret]), [], "the search finds what is there");
    await visit.field("To confirm").fill("LIVE sample");
    const answer = visit.page.waitForResponse(/\/run\/live$/);
    await visit.startButton.click();
    assert.equal((await answer).status(), 400);
    const alert = visit.form.getByRole("alert");
    await until(async () => /MODE_NOT_SUPPORTED|VALIDATION_FAILED/.test(await alert.innerText()), "the refusal in place");
    const [post] = visit.watch.requests.filter(({ line }) => line === "POST /api/v1/run/live");
    assert.deepEqual(post.request.postDataJSON().exchange_config, { api_key: key, api_secret: secret });
    assert.equal(post.request.postDataJSON().mode, "live");
    assert.deepEqual(await traces(visit, [key, secret]), []);
    assert.equal(await visit.field("API key").inputValue(), "");
    assert.equal(await visit.field("To confirm").inputValue(), "", "each start is confirmed anew");
    assert.deepEqual(await inHeap(visit, [key, secret]), [], "in the memory of the page");
  });

  await t.test("credentials are gone when the answer is lost, the mode or the page changes", async () => {
    const { visit } = await open(t, front, [/net::ERR/]);
    const [key, secret] = [canary(), canary()];
    await credentials(visit, key, secret);
    await visit.form.getByRole("radio", { name: "Backtest" }).check();
    assert.deepEqual(await traces(visit, [key, secret]), [], "after another mode");
    await visit.form.getByRole("radio", { name: "Live" }).check();
    assert.equal(await visit.field("API key").inputValue(), "");

    await visit.context.route(/\/run\/live$/, (route) => route.abort("connectionreset"));
    await credentials(visit, key, secret);
    await visit.field("To confirm").fill("LIVE sample");
    await visit.startButton.click();
    await until(async () => (await visit.form.getByRole("alert").count()) > 0, "the failure in place");
    assert.deepEqual(await traces(visit, [key, secret]), [], "after a lost answer");

    await credentials(visit, key, secret);
    await visit.page.reload();
    await visit.stream("connected");
    assert.equal(await visit.form.getByRole("radio", { name: "Backtest" }).isChecked(), true, "the mode always begins at Backtest");
    assert.deepEqual(await traces(visit, [key, secret]), [], "after a reload");
  });

  await t.test("a live run on the simulated market: confirmed, limited, stopped after a question", async () => {
    const visit = await t.visit(service.url);
    await visit.stream("connected");
    await visit.form.getByRole("radio", { name: "Live" }).check();
    await visit.form.getByRole("combobox", { name: "Exchange" }).selectOption("sim");
    const frame = visit.form.getByRole("region", { name: "Live, without real money" });
    const limits = await frame.innerText();
    for (const part of ["no real money", "Simulated market", "3\u202f% of the equity at 00:00 UTC", "reducing after 3 timeframes", "Positions stay open"]) assert.ok(limits.includes(part), `${part} is not in\n${limits}`);
    assert.equal(await frame.locator("input[type=password]").count(), 0, "there is no account to prove");
    await visit.fill({ strategy: "sma_cross", "Fast average": "3", "Slow average": "8", Timeframe: "1m", "Candles per second": "25", "To confirm": "LIVE sample" }); // the daily loss comes soon, the drawdown late
    await visit.startButton.press("Enter");
    assert.equal((await service.status()).status, "idle", "not with another confirmation");
    await visit.field("To confirm").fill("LIVE sim");
    await visit.startButton.click();
    await visit.says("running · live");
    await until(async () => (await visit.drawn()).fills > 4, "fills on the chart");
    // It loses more in a day than the limit allows: the service lets it shrink positions only.
    await visit.bar("reducing").getByText(/only orders that shrink a position pass/).waitFor();
    await visit.bar("warnings").getByText(/^(DAILY_LOSS_EXCEEDED|STATE_REDUCING)$/).waitFor();
    const alarms = visit.page.getByRole("region", { name: /open alarms?$/ });
    await alarms.getByText("DAILY_LOSS_EXCEEDED").waitFor();
    await says(alarms, /error\s+DAILY_LOSS_EXCEEDED the day lost [\d.]+ USDT, at most [\d.]+ USDT\s+since \d/);
    assert.equal((await service.get("/health")).checks.alarms.status, "warn");
    const controls = visit.page.getByRole("group", { name: "Controls of the run" });
    await controls.getByRole("button", { name: "Flatten" }).click();
    const question = visit.page.getByRole("dialog", { name: "Flatten the run?" });
    await question.getByRole("button", { name: "Cancel" }).click();
    assert.equal((await service.status()).alarms.some((a) => a.code === "OPERATOR_PAUSED"), false, "not without a yes");
    await controls.getByRole("button", { name: "Flatten" }).click();
    await question.getByRole("button", { name: "Flatten" }).click();
    await visit.bar("notice").getByText(/Entries are paused, \d+ are being cancelled, \d+ positions are being sold/).waitFor();
    await until(async () => (await service.get("/status/detailed")).positions.length === 0, "the end of the position");
    const paused = alarms.getByRole("listitem").filter({ hasText: "OPERATOR_PAUSED" });
    await paused.getByRole("button", { name: "Acknowledge" }).click();
    await visit.page.getByRole("dialog", { name: "Acknowledge OPERATOR_PAUSED?" }).getByRole("button", { name: "Acknowledge" }).click();
    await paused.getByText(/acknowledged/).waitFor();
    await controls.getByRole("button", { name: "Resume entries" }).click();
    await visit.page.getByRole("dialog", { name: "Let entries again?" }).getByRole("button", { name: "Resume entries" }).click();
    await paused.waitFor({ state: "detached" });
    await visit.button("Stop").click();
    const dialog = visit.page.getByRole("dialog", { name: "Stop the live run?" });
    await dialog.getByText("entries are cancelled. Positions stay open, with the exits that protect them.").waitFor();
    await dialog.getByRole("button", { name: "Stop the run" }).click();
    await visit.says("completed");
    const results = await service.results();
    assert.deepEqual([results.mode, results.stop_reason, results.config.risk.max_daily_loss], ["live", "stopped", 0.03]);
    await visit.agrees(results);
    await visit.open("Evidence");
    await visit.page.getByRole("heading", { name: "Risk limits" }).waitFor();
  });
}

const canary = () => "canary" + randomBytes(12).toString("hex");

async function open(t, front, allow = []) {
  const visit = await t.visit(front.url, { allow });
  await visit.stream("connected");
  await visit.form.getByRole("radio", { name: "Live" }).check();
  await visit.form.getByRole("combobox", { name: "Exchange" }).selectOption("sample");
  const money = visit.form.getByRole("region", { name: "Real money" });
  await money.waitFor();
  return { visit, money };
}

async function credentials(visit, key, secret) {
  await visit.field("API key").fill(key);
  await visit.field("API secret").fill(secret);
}

/** Where a secret can still be found, without looking into the memory of the engine. */
async function traces(visit, secrets) {
  const places = await visit.page.evaluate(async () => ({
    "the document": document.documentElement.outerHTML,
    "a field": [...document.querySelectorAll("input, textarea, select")].map((e) => e.value).join("\n"),
    "the storage": JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, await indexedDB.databases(), await caches.keys()]),
    "the address": location.href + JSON.stringify(history.state),
    "the timings": performance.getEntries().map((e) => e.name).join("\n"),
  }));
  places["the console"] = visit.watch.console.map(({ text }) => text).join("\n");
  places["an address that was asked for"] = visit.watch.requests.map(({ url }) => url).join("\n");
  return Object.entries(places).filter(([, text]) => secrets.some((secret) => text.includes(secret))).map(([place]) => place);
}

/** The secrets that the script engine still holds after all garbage is gone. */
async function inHeap(visit, secrets) {
  const session = await visit.context.newCDPSession(visit.page);
  const chunks = [];
  session.on("HeapProfiler.addHeapSnapshotChunk", ({ chunk }) => chunks.push(chunk));
  for (let i = 0; i < 3; i++) await session.send("HeapProfiler.collectGarbage");
  await session.send("HeapProfiler.takeHeapSnapshot", { reportProgress: false });
  await session.detach();
  const { strings } = JSON.parse(chunks.join(""));
  return strings.filter((text) => secrets.some((secret) => text.includes(secret)));
}
