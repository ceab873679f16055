// U18: the pages of the lab in every state, with hostile names in every place: text stays
// text, the pages are accessible, narrow and wide, and reachable by keyboard.
import assert from "node:assert/strict";
import { hostile, lab, rows } from "../lib/lab.mjs";
import { look } from "../lib/look.mjs";
import { answered, broken } from "../lib/watch.mjs";
import { until } from "../lib/wait.mjs";

const first = rows[0].run_id;
const pages = {
  runs: ["/ui/runs", "List of runs", "Runs"],
  run: ["/ui/runs/" + first, "Log", "Moving average crossover"],
  "hostile run": ["/ui/runs/" + rows[1].run_id, "Log", hostile],
  compare: [`/ui/compare?ids=${first},${rows[1].run_id}`, "What differs", "Compare runs"],
  families: ["/ui/families", "Planned searches", "Families"],
  family: ["/ui/families/plan_1", "Plan", hostile],
  data: ["/ui/data", "Datasets", "Data"],
  governance: ["/ui/governance", "Canary", "Governance board"],
  falsification: ["/ui/falsifications/fal_0", "Conclusion", "Falsification"],
};

export default async function pagesOfTheLab(t) {
  const service = await t.service({ names: ["sma_cross"] });
  const open = async (path, how) => t.visit(service.url, { path, before: (visit) => lab(visit, how), allow: [answered(404), answered(409), answered(503), broken, /net::ERR_FAILED/] });

  for (const [name, [path, section, heading]] of Object.entries(pages)) {
    await t.test(`${name}: what is shown is text, and accessible`, async () => {
      const visit = await open(path);
      await visit.page.getByRole("region", { name: section, exact: true }).first().waitFor();
      await until(async () => (await visit.page.getByText(/^Loading/).count()) === 0, "all answers");
      assert.ok((await visit.page.getByRole("heading", { level: 2, name: heading }).count()) === 1, "the heading");
      assert.equal(await visit.page.locator("main img, main b").count(), 0, "markup in a name became elements");
      assert.notEqual(await visit.page.title(), "broken in");
      await look(t, visit, name);
    });
  }

  const states = { offline: "offline", "not-found": { status: 404, code: "RUN_NOT_FOUND" }, locked: { status: 409, code: "SPLIT_LOCKED" }, error: { status: 503, code: "LAB_UNAVAILABLE" } };
  for (const [state, fail] of Object.entries(states)) {
    await t.test(`${state} is said, with the way on`, async () => {
      const visit = await open("/ui/runs/" + first, { fail });
      await visit.page.locator(`main [role=alert][data-state=${state}]`).first().waitFor();
      await look(t, visit, state);
    });
  }

  await t.test("two runs are selected and compared by keyboard, Back returns to the list", async () => {
    const visit = await open("/ui/runs");
    for (const { run_id } of rows.slice(0, 2)) {
      await visit.page.getByRole("checkbox", { name: `Compare ${run_id}` }).focus();
      await visit.page.keyboard.press("Space");
    }
    await visit.page.getByRole("link", { name: "Compare 2 runs" }).focus();
    await visit.page.keyboard.press("Enter");
    await visit.page.getByRole("region", { name: "Is it real" }).waitFor();
    assert.equal(await visit.page.evaluate(() => document.activeElement.id), "page", "the focus is on the page");
    await visit.page.goBack();
    await visit.page.getByRole("region", { name: "List of runs" }).waitFor();
  });

  await t.test("the chart of a run is the runner's: what its strategy published, its trades, zoom in the address", async () => {
    const visit = await open("/ui/runs/" + first), { chart, page } = visit, drawn = () => chart.evaluate((e) => ({ ...e.dataset }));
    await until(async () => (await drawn()).lines?.split(",").length > 5, "the series", { detail: drawn });
    const { points, trades, fills, ambiguous, panes, view } = await drawn();
    assert.deepEqual({ trades, fills, ambiguous, view }, { trades: "12", fills: "2", ambiguous: "1", view: "all" });
    assert.ok(panes.split(",").includes("volume") && Number(points) > 100, JSON.stringify(await drawn()));
    await chart.getByText(/^Full\./).waitFor();
    for (const name of ["Zoom in", "Earlier"]) await chart.getByRole("button", { name, exact: true }).click();
    // The address follows the view at a distance: of two clicks it may have the first alone for a moment.
    const url = await until(async () => { const now = page.url(); await page.waitForTimeout(500); return /#from=[^&]+&to=/.test(now) && page.url() === now && now; }, "the stretch in the address");
    await page.goto("about:blank");
    await page.goBack();
    await until(async () => (await drawn()).view === "part", "the stretch after Back");
    await page.reload();
    await until(async () => (await drawn()).view === "part", "the stretch after a reload");
    assert.equal(page.url(), url);
    await chart.getByRole("button", { name: "Show all" }).click();
    await page.waitForURL((u) => u.hash === "");
    await chart.getByText("Look", { exact: true }).click();
    await chart.getByRole("button", { name: "Full screen" }).waitFor();
    // Of two symbols one is drawn: each has its own candles and series, the rest is of the run.
    const asked = page.waitForRequest((r) => /\/candles\?/.test(r.url()) && new URL(r.url()).searchParams.get("symbol") === "ETH/USDT");
    await chart.getByLabel("Symbol of the candles").selectOption("ETH/USDT");
    await asked;
  });

  await t.test("the chart of a run with thousands of trades has all of them where it is zoomed in", async () => {
    await service.backtest("sma_cross", { strategy_params: { fast: 2, slow: 5 }, initial_cash: 1e9, execution: { fee_maker: 0, fee_taker: 0 } });
    const { run_id } = await service.reaches("completed"), path = `/runs/${run_id}`, of = async (what) => (await service.get(`${path}/${what}`));
    const visit = await t.visit(service.url, { path: "/ui/runs/" + run_id }), { chart, page } = visit, drawn = () => chart.evaluate((e) => ({ ...e.dataset }));
    const all = await of("trades?limit=1"), marks = await of("marks?points=2");
    assert.ok(all.total > 3000, `${all.total} trades`);
    await until(async () => (await drawn()).trades === "500", "trades that are taken evenly", { detail: drawn });
    await chart.getByText(/500 of \d+\s?\d+ trades are drawn\.$/).waitFor();
    assert.equal(Number((await drawn()).fills), marks.of, "none of the fills is lost");
    await chart.getByRole("button", { name: "1M", exact: true }).click();
    const { fills, trades, from, to } = await until(async () => { const now = await drawn(); return now.view === "part" && now.points > 700 && Number(now.trades) < 500 && now; }, "the last month", { detail: drawn });
    const stretch = `from=${new Date(Number(from)).toISOString()}&to=${new Date(Number(to)).toISOString()}`, shown = await of(`marks?${stretch}`);
    assert.deepEqual({ fills: Number(fills), trades: Number(trades) }, { fills: shown.of, trades: (await of(`trades?limit=1&${stretch}`)).total });
    assert.ok(shown.of > 100, `${shown.of} fills in the last month`);
    assert.equal(await chart.getByText(/are drawn/).count(), 0);
    // Its last trade is under the pointer.
    const [last] = (await of("trades?limit=1&sort=-exit_time")).items, box = await visit.chart.locator(".chart-canvas").boundingBox();
    await until(async () => {
      for (let right = 60; right < 240; right += 3) {
        await page.mouse.move(box.x + box.width - right, box.y + 60);
        if ((await drawn()).held.replaceAll(/\s/g, "").includes(String(last.entry_price))) return true;
      }
      return false;
    }, "the last trade", { detail: drawn });
  });

  await t.test("the columns that are chosen are kept", async () => {
    const visit = await open("/ui/runs");
    await visit.page.getByText("Columns", { exact: true }).first().click();
    await visit.page.getByRole("checkbox", { name: "Note" }).check();
    await visit.page.getByRole("checkbox", { name: "Holding" }).uncheck();
    await visit.page.reload();
    await visit.page.getByRole("columnheader", { name: "Note" }).waitFor();
    assert.equal(await visit.page.getByRole("columnheader", { name: "Holding" }).count(), 0);
    assert.match(await visit.page.evaluate(() => localStorage.getItem("assay.columns")), /note/);
  });
}
