// What the page promises about itself beside its functions: what is visible without
// scrolling, columns, themes, what is said aloud and what is stored.
import assert from "node:assert/strict";
import { until } from "../lib/wait.mjs";

export default async function layout(t) {
  const service = await t.service({ names: ["sma_cross", "sleeper"] });
  await service.backtest("sma_cross");
  await service.reaches("completed");
  const results = await service.results();

  await t.test("at 1440 x 900: header, tiles, three panes and five rows without scrolling", async () => {
    const visit = await t.visit(service.url);
    await visit.agrees(results);
    await until(async () => (await visit.rows("Trades")).length > 5, "the rows");
    const bottom = (locator) => locator.evaluate((e) => e.getBoundingClientRect().bottom);
    for (const part of [visit.page.getByRole("banner"), visit.page.getByRole("region", { name: "Key numbers" }), visit.chart]) assert.ok((await bottom(part)) <= 900);
    const panes = await visit.chart.evaluate((e) => [...e.querySelectorAll(".chart-legend")].map((legend) => Math.round(legend.getBoundingClientRect().top)));
    assert.equal(new Set(panes).size, 3, "three panes");
    const rows = await visit.page.getByRole("grid", { name: "Trades" }).evaluate((grid) => {
      const end = Math.min(900, grid.getBoundingClientRect().bottom);
      return [...grid.querySelectorAll("[role=row][data-row]")].filter((row) => row.getBoundingClientRect().bottom <= end + 1).length;
    });
    assert.ok(rows >= 5, `${rows} rows`);
    for (const width of [1440, 768]) {
      await visit.page.setViewportSize({ width, height: 900 });
      const tiles = await visit.page.locator(".tiles .tile").evaluateAll((all) => all.map((e) => [e.offsetHeight, e.scrollWidth - e.clientWidth]));
      assert.ok(tiles.every(([height, over]) => height < 56 && over <= 0), `${width}: tiles are two lines and hold their numbers: ${tiles}`);
    }
    await visit.page.setViewportSize({ width: 1440, height: 900 });
    const head = await visit.page.getByRole("columnheader", { name: /^(Return|Direction)/ }).evaluateAll((all) => all.map((e) => [e.firstElementChild ?? e].map((x) => { const r = document.createRange(); r.selectNodeContents(x); return r.getBoundingClientRect(); })[0]).map((r) => [r.left, r.right]));
    assert.ok(head[1][0] - head[0][1] >= 12, `the heads are apart: ${head}`);
    // For those who listen: what is where, and what the tab of the browser is called.
    assert.match(await visit.page.title(), /^completed Moving average crossover · Assay$/);
    for (const name of ["Key numbers", "Outcome", "Details of the run"]) await visit.page.getByRole("region", { name }).waitFor();
    await visit.form.getByText("Execution", { exact: true }).click();
    const seen = await visit.form.evaluate((form) => {
      const fold = [...form.querySelectorAll("details")].find((d) => d.querySelector("summary").textContent.startsWith("Execution"));
      return [...fold.querySelectorAll(".control")].filter((c) => c.getBoundingClientRect().bottom < 830).length;
    });
    assert.ok(seen >= 3, `${seen} options are seen once they are unfolded`);
  });

  await t.test("the look of the chart can be chosen, kept as a picture, and its tab is part of the address", async () => {
    const visit = await t.visit(service.url);
    await visit.agrees(results);
    await visit.chart.getByText("Look", { exact: true }).click();
    const look = visit.chart.getByRole("group", { name: "Look of the chart" });
    for (const name of [/^Cash/, /^Hold/, /^Log/, /^Hollow/, /^Blue/]) assert.equal(await look.getByRole("checkbox", { name }).count(), 1, String(name));
    await look.getByRole("checkbox", { name: /^Hollow/ }).check();
    const [file] = await Promise.all([visit.page.waitForEvent("download"), look.getByRole("button", { name: "Save PNG" }).click()]);
    assert.match(file.suggestedFilename(), /\.png$/);
    for (const name of ["1M", "3M", "YTD", "1Y"]) {
      await visit.button(name, { exact: true }).click();
      await until(async () => (await visit.drawn()).view === "part", name);
    }
    await visit.page.getByLabel("Go to date").fill("2021-06-01");
    const at = Date.UTC(2021, 5, 1);
    await until(async () => {
      const { from, to } = await visit.drawn();
      return from <= at && at <= to;
    }, "the day");
    await visit.open("Evidence");
    const kept = () => Object.fromEntries(new URLSearchParams(new URL(visit.page.url()).hash.slice(1)));
    await until(() => kept().tab === "evidence" && kept().from && kept().to, "tab and stretch in the address", { detail: kept });
    const stretch = kept();
    await visit.page.reload();
    await visit.page.getByRole("tabpanel", { name: /^Evidence/ }).waitFor();
    await until(async () => (await visit.drawn()).view === "part", "the stretch after a reload");
    await visit.open("Trades");
    const heads = () => visit.page.getByRole("grid", { name: "Trades" }).getByRole("columnheader", { name: /^PnL/ });
    await heads().getByRole("button").click();
    await until(() => kept().sort === "pnl" && !("tab" in kept()), "the order in the address", { detail: kept });
    await visit.page.goto("about:blank");
    await visit.page.goBack();
    await until(async () => (await heads().getAttribute("aria-sort")) === "ascending" && (await visit.drawn()).view === "part", "order and stretch after Back");
    const { from, to, sort } = kept();
    assert.deepEqual({ from, to, sort }, { from: stretch.from, to: stretch.to, sort: "pnl" });
  });

  await t.test("two columns from 900 px, below one with the run first and the form behind a button", async () => {
    const visit = await t.visit(service.url);
    await visit.agrees(results);
    const box = (locator) => locator.evaluate((e) => e.getBoundingClientRect().toJSON());
    const [form, main] = [visit.page.getByRole("region", { name: "New run" }), visit.page.getByRole("main")];
    for (const width of [1440, 900]) {
      await visit.page.setViewportSize({ width, height: 900 });
      assert.ok(Math.abs((await box(form)).width - 300) <= 1, `${width}: form ${(await box(form)).width}`);
      assert.ok((await box(form)).right <= (await box(main)).left);
    }
    await visit.page.setViewportSize({ width: 899, height: 900 });
    assert.equal(await form.isVisible(), false);
    await visit.button("New run", { exact: true }).click();
    assert.equal(await form.isVisible(), true);
    await visit.page.keyboard.press("Tab");
    await visit.page.keyboard.press("Escape");
    assert.equal(await form.isVisible(), false);
  });

  await t.test("the theme follows the system until it is chosen, and the choice is kept", async () => {
    const visit = await t.visit(service.url, { colorScheme: "dark" });
    const background = () => visit.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const [dark, light] = ["rgb(11, 14, 20)", "rgb(246, 248, 250)"];
    assert.equal(await background(), dark);
    await visit.page.emulateMedia({ colorScheme: "light" });
    await until(async () => (await background()) === light, "the light theme");
    while ((await visit.button(/^Theme/).getAttribute("aria-label")) !== "Theme: dark") await visit.button(/^Theme/).click();
    assert.equal(await background(), dark);
    await visit.page.reload();
    await visit.says("completed");
    assert.equal(await background(), dark);
  });

  await t.test("nothing but three keys is stored, no cookie, nothing in the address", async () => {
    const visit = await t.visit(service.url);
    await visit.agrees(results);
    await visit.fill({ Cash: "4321" });
    await until(() => visit.page.evaluate(() => localStorage.getItem("assay.form")?.includes("4321")), "the form to be stored");
    const kept = await visit.page.evaluate(async () => [
      Object.keys(localStorage).sort(), Object.keys(sessionStorage), document.cookie, (await indexedDB.databases()).length, location.search + location.hash,
    ]);
    assert.deepEqual(kept, [["assay.form", "assay.shortcuts", "assay.theme"], [], "", 0, ""]);
    assert.deepEqual(await visit.context.cookies(), []);
  });

  await t.test("the same page at /api/v1/ui", async () => {
    const [a, b] = await Promise.all(["/ui", "/api/v1/ui"].map(async (path) => (await fetch(service.url + path)).text()));
    assert.equal(a, b);
    const visit = await t.visit(service.url, { path: "/api/v1/ui" });
    await visit.agrees(results);
  });

  await t.test("a run is said aloud every 10 % at most, and how it ended", async () => {
    await service.clear();
    const visit = await t.visit(service.url);
    await visit.says("idle");
    await visit.page.evaluate(() => {
      globalThis.said = [];
      for (const e of document.querySelectorAll("[role=status]")) {
        new MutationObserver(() => e.textContent && said.at(-1) !== e.textContent && said.push(e.textContent)).observe(e, { childList: true, characterData: true, subtree: true });
      }
    });
    await service.backtest("sleeper", { strategy_params: { sleep_ms: 1 }, start_date: "2024-03-01" });
    await service.reaches("completed");
    await visit.says("completed");
    const said = await until(async () => {
      const lines = await visit.page.evaluate(() => globalThis.said);
      return lines.some((line) => /completed/.test(line)) && lines;
    }, "the end to be said");
    assert.ok(said.length >= 3 && said.length <= 14, said.join(" | "));
  });

  await t.test("a hidden page goes on when it is looked at again", async () => {
    await service.clear();
    const visit = await t.visit(service.url);
    await visit.says("idle");
    await visit.page.evaluate(() => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
      Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "hidden" });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await service.backtest("sma_cross");
    await service.reaches("completed");
    await visit.says("completed");
    await visit.page.evaluate(() => {
      delete document.hidden;
      delete document.visibilityState;
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await visit.agrees(await service.results());
  });
}
