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
  run: ["/ui/runs/" + first, "Log", "sma_cross"],
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

  await t.test("the chart of a run draws what its strategy published, as it declares", async () => {
    const visit = await open("/ui/runs/" + first), chart = visit.page.getByRole("region", { name: "Chart", exact: true });
    await chart.locator("svg [data-kind=band]").waitFor();
    const panes = await chart.locator("figure").evaluateAll((all) => all.map((pane) => [pane.dataset.pane, [...pane.querySelectorAll("[data-kind]")].map((g) => g.dataset.kind), [...pane.querySelectorAll("[data-series]")].map((s) => s.dataset.series)]));
    assert.deepEqual(panes, [
      ["", ["line", "band", "line", "marker"], ["fast", "low", hostile, "cross"]], [hostile, ["line"], ["strength"]], ["volume", ["histogram"], ["volume"]],
    ]);
    assert.equal(await chart.locator(".candle").first().evaluate((path) => path.getAttribute("d").split("M").length - 1 > 100), true, "candles are drawn");
    await chart.getByText(/^Full: 7\s?200 candles joined to 300 of /).waitFor();
    assert.equal(await chart.locator("[data-trade]").count(), 12, "each trade from its entry to its exit");
    assert.match(await chart.locator("[data-trade] title").first().textContent(), /^long, 2023-02-01 00:00 at 100 to 2023-02-03 00:00 at 102: \+1\.00/);
    // Of two symbols one is drawn: each has its own candles and series, the rest is of the run.
    const asked = visit.page.waitForRequest((r) => /\/candles\?/.test(r.url()) && new URL(r.url()).searchParams.get("symbol") === "ETH/USDT");
    await chart.getByLabel("Symbol").selectOption("ETH/USDT");
    await asked;
    assert.match(await chart.locator("[data-series=volume]").innerText(), /volume$/);
    await chart.locator("[data-series=fast]").getByText("(of the run)").waitFor();
    // The days that are looked at are part of the address.
    const part = visit.page.waitForRequest((r) => /\/candles\?/.test(r.url()) && new URL(r.url()).searchParams.get("from") === "2023-03-01T00:00:00Z");
    await chart.getByLabel("From").fill("2023-03-01");
    await part;
    assert.match(visit.page.url(), /#from=2023-03-01$/);
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
