// U21: candles come in by the browser: a file is dropped, the importer's questions are answered,
// what is stored is backtested without a restart; an exchange is asked, and asked again.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { axe, cut, sideways } from "../lib/axe.mjs";
import { answered, broken } from "../lib/watch.mjs";
import { until, within } from "../lib/wait.mjs";

const hour = 3_600_000, begin = Date.UTC(2024, 0, 1), hostile = `<img src=x onerror="document.title='broken in'">.csv`;
const line = (i) => [begin + i * hour, 100 + (i % 7), 103 + (i % 7), 98, 101 + (i % 7), 5].join(",");
const candles = (n) => ["time,open,high,low,close,volume", ...Array.from({ length: n }, (_, i) => line(i)), ""].join("\n");

async function look(visit) {
  const found = [];
  for (const [width, height] of [[1440, 900], [360, 740]]) {
    await visit.page.setViewportSize({ width, height });
    for (const colorScheme of ["light", "dark"]) {
      await visit.page.emulateMedia({ colorScheme });
      for (const problem of await axe(visit.page)) found.push(`${width} ${colorScheme}: ${problem}`);
    }
    for (const check of [sideways, cut]) for (const problem of await check(visit.page)) found.push(`${width}: ${problem}`);
  }
  await visit.page.setViewportSize({ width: 1440, height: 900 });
  assert.deepEqual([...new Set(found)], []);
}

/** Drops a file as a person does. */
async function drop(page, name, text) {
  const dropped = await page.evaluateHandle(([name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name));
    return data;
  }, [name, text]);
  for (const type of ["dragover", "drop"]) await page.locator(".drop").dispatchEvent(type, { dataTransfer: dropped });
}

export default async function imports(t) {
  const service = await t.service({ names: ["sma_cross"] });
  const open = async (url, allow = []) => {
    const visit = await t.visit(url, { path: "/ui/data", allow });
    return { visit, page: visit.page, part: visit.page.getByRole("region", { name: "Import files", exact: true }) };
  };

  await t.test("a file is dropped, questions are answered, a backtest runs on it", async () => {
    const { visit, page, part } = await open(service.url), press = (name) => part.getByRole("button", { name, exact: true }).click();
    await part.getByText("Choose files first.").waitFor();
    // The first hour has a second candle, another one.
    await drop(page, hostile, candles(400) + `${begin},1,2,1,2,1\n`);
    await part.getByRole("list", { name: "Chosen files" }).getByText(hostile).waitFor();
    await part.getByText("Name the exchange.").waitFor();
    await part.getByLabel(/^Exchange/).fill("here");
    await press("Check");
    const question = part.getByRole("region", { name: "Question of the importer" });
    await question.getByText("SYMBOL_REQUIRED").waitFor();
    assert.ok((await question.innerText()).includes(hostile), "the file has its name");
    await look(visit);
    await question.getByLabel(/^Symbol/).fill("ABC/USDT");
    await question.getByRole("button", { name: "Check again" }).click();
    await question.getByText("CONFLICTING_DUPLICATES").waitFor();
    await question.getByLabel(/^Different candles/).selectOption("first");
    await question.getByRole("button", { name: "Check again" }).press("Enter");
    const report = part.getByRole("region", { name: "Report of the importer" });
    await report.getByText("This would be stored.").waitFor();
    await report.getByText("401 read, 0 skipped").waitFor();
    await look(visit);
    assert.equal((await service.get("/datasets?exchange=here")).total, 0, "a check stores nothing");
    await press("Import 400 candles");
    await report.getByText("Stored.", { exact: true }).waitFor();
    const { items: [stored] } = await service.get("/datasets?exchange=here");
    await page.locator(`tr[data-id="${stored.dataset_id}"]`).waitFor();
    assert.equal(await page.title().then((title) => title.includes("broken in")), false);
    await page.getByRole("link", { name: "Runner" }).first().click();
    await visit.fill({ strategy: "sma_cross" });
    await visit.button("Remove BTC/USDT").click();
    await visit.field("Symbols").fill("ABC/USDT");
    await visit.field("Symbols").press("Enter");
    await visit.form.getByLabel(/^Exchange/).selectOption("here");
    await visit.startButton.click();
    await visit.says("completed");
    const { config } = await service.results();
    assert.deepEqual([config.exchange, config.symbols], ["here", ["ABC/USDT"]]);
  });

  await t.test("a file that no answer mends says so, and is chosen by keyboard alone", async () => {
    const { page, part } = await open(service.url);
    await part.getByLabel(/^Drop files/).setInputFiles({ name: "BTC_USDT-1h.csv", mimeType: "text/csv", buffer: Buffer.from("time,open,high,low,close\n1.7E+12,1,2,1,2\n") });
    assert.equal(await part.getByLabel(/^Symbol/).inputValue(), "BTC/USDT", "the name of the file says it");
    await part.getByLabel(/^Exchange/).focus();
    await page.keyboard.type("here");
    await part.getByRole("button", { name: "Check", exact: true }).press("Enter");
    await part.getByText("Mend the file, or choose another one.").waitFor();
    await part.getByRole("list", { name: "Lines at fault" }).getByText("BTC_USDT-1h.csv").waitFor();
  });

  await t.test("a large file shows how much of it is away, and can be stopped", async () => {
    const { visit, page, part } = await open(service.url, [broken]), bytes = 24 << 20;
    const session = await visit.context.newCDPSession(page);
    await session.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 1 << 20 });
    await drop(page, "ABC_USDT-1h.csv", candles(3) + "x".repeat(bytes));
    await part.getByLabel(/^Exchange/).fill("here");
    await part.getByRole("button", { name: "Check", exact: true }).click();
    const bar = part.getByRole("progressbar", { name: "ABC_USDT-1h.csv sent" }), away = async () => Number(await bar.getAttribute("aria-valuenow"));
    const first = await until(away, "the first bytes");
    await until(async () => (await away()) > first, "more bytes");
    assert.ok(first > 0 && first < bytes && Number(await bar.getAttribute("aria-valuemax")) > bytes);
    await part.getByText(/ of 24(\.\d)? MiB/).waitFor();
    for (const problem of await axe(page)) assert.fail(problem);
    await part.getByRole("button", { name: "Stop sending" }).click();
    await bar.waitFor({ state: "detached" });
    assert.equal(await part.getByRole("alert").count(), 0, "a stop is no mistake");
    await session.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
    await part.getByRole("button", { name: "Check", exact: true }).click();
    await part.getByText("Mend the file, or choose another one.").waitFor();
  });

  await t.test("without the lab the button says so", async () => {
    const alone = await t.service({ names: ["sma_cross"], args: ["--lab", "/nowhere/lab"] });
    const { page, part } = await open(alone.url, [answered(503)]);
    await drop(page, "a.csv", candles(3));
    await part.getByLabel(/^Exchange/).fill("here");
    await part.getByRole("button", { name: "Check", exact: true }).click();
    await part.getByRole("alert").getByText("LAB_UNAVAILABLE").waitFor();
  });

  await t.test("an exchange is asked, and asked again for what is new", async () => {
    const folder = join(t.config.bin, "venue"), venue = spawn(join(folder, "testvenue"), ["--speed", "0", "--history", "500", "--start", "2040-01-01T00:00:00Z"], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      const told = {};
      const lines = createInterface({ input: venue.stdout });
      await within(new Promise((done) => lines.on("line", (text) => {
        const [name, url] = text.split(/\s+/);
        told[name] = url;
        if (told.exchange && told.scripts) done();
      })), 20_000, "the start of the venue");
      const script = async (action, ...args) => assert.ok((await fetch(told.scripts, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ action, args }) })).ok, action);
      const trading = await t.service({ names: ["sma_cross"], args: ["--connectors", join(folder, "connectors"), "--connector-endpoint", "binance=" + told.exchange] });
      const { visit, page } = await open(trading.url), part = page.getByRole("region", { name: "Fetch from an exchange", exact: true });
      await part.getByText("Missing: a symbol, the first day.").waitFor();
      await part.getByLabel(/^Symbols/).fill("BTC/USDT");
      await part.getByLabel(/^Timeframe/).fill("1m");
      await part.getByLabel(/^From/).fill("2039-12-31");
      await part.getByRole("button", { name: "Fetch" }).click();
      await part.getByText(/^Fetch completed/).waitFor();
      const rows = async () => (await trading.get("/datasets?exchange=binance")).items[0].rows, before = await rows();
      const row = page.locator("tr[data-id]", { hasText: "fetched" });
      await script("step");
      await row.getByRole("button", { name: "Update" }).click();
      await until(async () => (await rows()) > before, "a new candle");
      await script("candle_amend", "BTCUSDT");
      await row.getByRole("button", { name: "Update" }).click();
      await row.getByRole("button", { name: "Take the fetched candles" }).waitFor();
      await look(visit);
      await row.getByRole("button", { name: "Take the fetched candles" }).click();
      await row.getByRole("button", { name: "Take the fetched candles" }).waitFor({ state: "detached" });
    } finally {
      venue.kill("SIGTERM");
      await once(venue, "exit");
    }
  });
}
