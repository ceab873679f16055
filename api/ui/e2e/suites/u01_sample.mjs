// ring: test
// U1: from an empty page to a completed run, and every number against GET /results.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { number } from "../lib/visit.mjs";
import { says, until } from "../lib/wait.mjs";

export default async function sample(t) {
  const service = await t.service({ names: [...t.config.strategies, "sleeper"] });
  let visit, results;

  await t.test("an empty page says in three steps what to do and runs the sample", async () => {
    visit = await t.visit(service.url);
    visit.kept = true;
    const empty = visit.page.getByRole("region", { name: "No run yet" });
    await empty.waitFor();
    assert.equal(await empty.getByRole("listitem").count(), 3);
    await empty.getByRole("button", { name: "Run the sample" }).click();
    await visit.says("completed");
    results = await service.results();
    assert.equal(results.config.strategy_name, "sma_cross");
    assert.equal(results.status, "completed");
  });

  await t.test("every tile equals /results", () => visit.agrees(results));

  await t.test("the markers of the chart are the fills, its extremes the exact ones", async () => {
    const drawn = await visit.drawn();
    assert.equal(drawn.fills, results.fills.length);
    assert.equal(drawn.ambiguous, results.fills.filter((fill) => fill.ambiguous).length);
    assert.ok(drawn.markers > 0 && drawn.markers <= 500, `${drawn.markers} markers`);
    // The series is sent with fewer digits than the metric.
    assert.ok(Math.abs(drawn.worst - results.performance_metrics.max_drawdown) < 1e-9, `worst ${drawn.worst}`);
    assert.ok(drawn.points > 0 && drawn.points <= 4000 && drawn.equityPoints <= 4000);
    const summary = await visit.page.locator("#chart-summary").innerText();
    assert.match(summary, new RegExp(`worst drawdown ${(results.performance_metrics.max_drawdown * 100).toFixed(2)}`));
    assert.ok(summary.replace(/\s/g, "").includes(`${results.fills.length}fills`), summary);
  });

  await t.test("the tables have the newest rows first and say how many there are", async () => {
    for (const [title, list, columns, first] of [
      ["Trades", results.trades, [0, 3], (row) => [row.exit_time.slice(0, 16).replace("T", " "), row.direction]],
      ["Orders", results.orders, [0, 1], (row) => [row.created_at.slice(0, 16).replace("T", " "), row.side]],
      ["Fills", results.fills, [0, 1], (row) => [row.timestamp.slice(0, 16).replace("T", " "), row.side]],
    ]) {
      await visit.open(title);
      await until(async () => number((await visit.tab(title).innerText()).replace(title, "")) === list.length, `${list.length} in ${title}`);
      const grid = visit.page.getByRole("grid", { name: title });
      // The grid counts what it was answered, a moment after the run has ended.
      await until(async () => (await grid.getAttribute("aria-rowcount")) === String(list.length + 1), `${title} are ${list.length}`);
      const rows = await until(async () => {
        const rows = await visit.rows(title);
        return rows.length > 3 && rows.every((row) => row[0] !== "…") && rows;
      }, title);
      for (const i of [0, 1, 2]) assert.deepEqual(columns.map((c) => rows[i][c]), first(list[list.length - 1 - i]), `${title} ${i}`);
    }
  });

  await t.test("no column of the trades is cut on a laptop, and the symbol is no column where there is one", async () => {
    await visit.open("Trades");
    const size = visit.page.viewportSize(), grid = visit.page.getByRole("grid", { name: "Trades" });
    await visit.page.setViewportSize({ width: 1440, height: 900 });
    await until(() => grid.evaluate((e) => e.scrollWidth <= e.clientWidth), "all columns are seen");
    assert.equal(await visit.page.getByRole("columnheader", { name: "Symbol" }).count(), 0);
    await visit.page.setViewportSize(size);
  });

  await t.test("a row selects its time on the chart, and a click on the chart its row", async () => {
    await visit.open("Trades");
    const grid = visit.page.getByRole("grid", { name: "Trades" });
    const chosen = async () => Number(await grid.getByRole("row", { selected: true }).getAttribute("aria-rowindex"));
    await grid.getByRole("row").nth(4).click();
    assert.equal(await chosen(), 5);
    const time = Date.parse(results.trades.at(-4).exit_time);
    await until(async () => {
      const { view, from, to } = await visit.drawn();
      return view === "part" && from <= time && time <= to;
    }, "the time of the trade on the chart");
    await until(async () => / → .*%/.test((await visit.drawn()).held), "its holding time, with entry, exit and return");
    await visit.button("Show all").click();
    await until(async () => {
      const { view, fills } = await visit.drawn();
      return view !== "part" && fills === results.fills.length;
    }, "everything");
    const canvas = visit.chart.locator("canvas").first();
    // The attributes of the chart tell of a view a moment before the library has drawn it.
    await until(async () => {
      const { x, y, width } = await canvas.boundingBox();
      await visit.page.mouse.click(x + width * 0.3, y + 60);
      return until(async () => (await chosen()) > 100, "a trade of long ago", { timeout: 2_000 });
    }, "a click on the chart to choose its trade");
  });

  await t.test("every metric stands with its exact value and its meaning", async () => {
    const panel = await visit.open("Metrics");
    const rows = await panel.evaluate((e) => [...e.querySelectorAll("[data-metric]")].map((row) => [row.dataset.metric, row.dataset.value, row.lastElementChild.textContent]));
    const metrics = results.performance_metrics;
    assert.deepEqual(rows.map(([name]) => name).sort(), Object.keys(metrics).sort());
    assert.ok((await panel.locator("th.group").count()) >= 5, "they are in groups");
    assert.doesNotMatch(await panel.innerText(), /[a-z]_[a-z]/, "no field's name among the words");
    for (const [name, value, meaning] of rows) {
      const known = metrics[name] !== null && !results.performance_metrics_undefined.includes(name);
      assert.equal(value, known ? String(metrics[name]) : "", name);
      assert.ok(meaning.length > 10, `${name}: no meaning`);
      if (!known) assert.match(meaning, /Not available: /, name);
    }
  });

  await t.test("the evidence names hashes, versions and the folder of the run", async () => {
    const panel = await visit.open("Evidence");
    const text = await panel.innerText();
    for (const part of [results.run_id, results.request_hash, results.result_hash, results.config.data_hash, results.config.strategy.sha256, results.artifacts]) {
      assert.ok(part && text.includes(part), `${part} is missing`);
    }
    for (const { code } of [...results.assumptions, ...results.warnings]) assert.ok(text.includes(code), code);
    await panel.getByRole("button", { name: "Copy result hash" }).click();
    assert.equal(await visit.page.evaluate(() => navigator.clipboard.readText()), results.result_hash);
  });

  await t.test("the files hold what the table and the service have", async () => {
    const panel = await visit.open("Trades");
    const file = async (click) => {
      const [download] = await Promise.all([visit.page.waitForEvent("download"), click.click()]);
      return readFile(await download.path(), "utf8");
    };
    const csv = (await file(panel.getByRole("button", { name: "CSV" }))).trim().split("\r\n");
    assert.equal(csv.length, results.trades.length + 1);
    assert.match(csv[0], /^trade_id,symbol,direction,quantity,/);
    assert.equal(csv[1].split(",")[0], results.trades.at(-1).trade_id);
    const json = JSON.parse(await file(panel.getByRole("link", { name: "JSON" })));
    assert.equal(json.result_hash, results.result_hash);
    await t.leave(visit);
  });

  await t.test("a run shows how far it is, and its numbers move", async () => {
    await service.clear();
    const visit = await t.visit(service.url);
    await visit.stream("connected");
    await service.backtest("sleeper", { strategy_params: { sleep_ms: 1 } });
    await visit.says("running");
    const bar = visit.page.getByRole("progressbar");
    const far = async () => Number(await bar.getAttribute("aria-valuenow"));
    const begin = await far();
    await until(async () => (await far()) > begin, "progress");
    await visit.page.getByText(/candles\/s/).waitFor();
    await visit.page.getByText(/\d\d:\d\d left/).waitFor();
    // One moment has one number of trades, whatever shows it; parameters stand with the run.
    const shown = await visit.page.evaluate(() => [document.querySelector("[data-tile=total_trades]").dataset.value, document.querySelector("#tab-trades .count").textContent.replaceAll(/\s/g, "")]);
    assert.equal(shown[0], shown[1]);
    await says(visit.page.locator("[aria-label=Progress] [data-params]"), /sleep_ms 1/);
    const tiles = await visit.tiles();
    await until(async () => (await visit.tiles()).total_trades.value !== tiles.total_trades.value, "another number of trades");
    assert.equal(await visit.startButton.getAttribute("aria-disabled"), "true");
    await visit.form.getByText("A run is active: stop it or wait.").waitFor();
    await visit.button("Stop").click();
    await visit.says("completed");
    await visit.agrees(await service.results());
  });
}
