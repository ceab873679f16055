// U20: what the lab makes beside the service, begun and followed in the browser: a backtest is
// attacked, a search is planned, a job is cancelled.
import assert from "node:assert/strict";
import { answered } from "../lib/watch.mjs";
import { until } from "../lib/wait.mjs";

const window = { timeframe: "1d", start_date: "2021-01-01", end_date: "2023-01-01" };

export default async function jobs(t) {
  const service = await t.service({ names: ["sma_cross"] });
  await service.backtest("sma_cross", window);
  await service.reaches("completed");
  const { items: [run] } = await service.get("/runs?kind=service");
  const newest = async () => (await service.get("/jobs")).items[0];

  await t.test("an ended backtest shows its candles and what the strategy published", async () => {
    const visit = await t.visit(service.url, { path: "/ui/runs/" + run.run_id }), { chart } = visit;
    const { items } = await service.get(`/runs/${run.run_id}/series`);
    assert.ok(items.length > 0, "nothing is published");
    const drawn = () => chart.evaluate((e) => ({ ...e.dataset })), { items: trades } = await service.get(`/runs/${run.run_id}/trades?limit=500`);
    await until(async () => (await drawn()).lines?.split(",").length === items.length, "all series", { detail: drawn });
    assert.deepEqual((await drawn()).lines.split(",").sort(), items.map((s) => s.name).sort());
    assert.deepEqual([(await drawn()).points, (await drawn()).trades], ["730", String(trades.length)]);
    await chart.getByText(/^Full\./).waitFor();
  });

  await t.test("a backtest is falsified, and what was found is shown", async () => {
    const visit = await t.visit(service.url, { path: "/ui/runs" });
    await visit.page.locator(`tr[data-id="${run.run_id}"]`).getByRole("link").first().click();
    await visit.page.getByRole("button", { name: "Falsify", exact: true }).click();
    const job = visit.page.locator("p.job");
    await job.getByText(/^Falsification (queued|running)/).waitFor();
    await until(async () => /running \d+ %.* \d+ replays left/.test(await job.innerText()), "how far it is", { timeout: 120_000 });
    await job.getByRole("link", { name: "What it found" }).click({ timeout: 240_000 });
    await visit.page.getByRole("region", { name: "Conclusion", exact: true }).waitFor();
    const { links, status } = await newest(), found = await service.get("/falsifications/" + links.falsification);
    assert.equal(status, "completed");
    assert.ok(visit.page.url().endsWith("/ui/falsifications/" + links.falsification));
    const tests = await visit.page.getByRole("list", { name: "Tests" }).locator("section").count();
    assert.equal(tests, found.tests.length);
    assert.equal((await service.status()).status, "completed", "the run of the runner");
  });

  await t.test("a job that is cancelled ends", async () => {
    const visit = await t.visit(service.url, { path: "/ui/runs/" + (await newest()).links.run_id });
    await visit.page.getByRole("button", { name: "Falsify", exact: true }).waitFor();
    const begun = await fetch(service.url + "/api/v1/falsifications", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ run_id: run.run_id, full: true }) });
    assert.equal(begun.status, 202);
    await visit.page.goto(service.url + "/ui/families");
    const panel = visit.page.getByRole("region", { name: "Jobs", exact: true });
    await panel.getByRole("button", { name: "Cancel" }).click();
    await panel.waitFor({ state: "detached" });
    assert.equal((await newest()).status, "cancelled");
  });

  await t.test("a search is planned, played and shown", async () => {
    const visit = await t.visit(service.url, { path: "/ui/families" });
    const form = visit.page.getByRole("form", { name: "Plan a search" }), start = form.getByRole("button", { name: "Register the plan and start" });
    await form.getByText(/Missing: a hypothesis/).waitFor();
    await form.getByLabel(/^Hypothesis/).fill("Trends outlast the lag of two averages.");
    await form.getByLabel("Strategy").selectOption("sma_cross");
    await form.getByLabel(/^Symbols/).fill("BTC/USDT");
    await form.getByLabel("Timeframe").fill("1d");
    await form.getByLabel(/^From/).fill("2019-01-01");
    await form.getByLabel(/^To/).fill("2023-01-01");
    await form.locator("fieldset input").nth(0).fill("5..10 step 5");
    await form.locator("fieldset input").nth(1).fill("30, 60");
    await form.locator("fieldset input").nth(2).fill("500");
    await form.getByLabel("Objective").selectOption("total_return"); // so short a time has no Sharpe ratio
    await form.getByText(/^4 points in the space/).waitFor();
    await start.click();
    await visit.page.getByText("Trends outlast the lag of two averages.").first().waitFor();
    const { links } = await newest();
    assert.ok(visit.page.url().endsWith("/ui/families/" + links.plan_id));
    await until(async () => (await newest()).status === "completed", "the end of the search", { timeout: 180_000 });
    await visit.page.reload();
    const trials = visit.page.getByRole("region", { name: "All trials", exact: true }).locator("tr[data-id]");
    await until(async () => (await trials.count()) === 4, "four trials");
    const { result, plan } = await service.get("/families/" + links.plan_id);
    assert.equal(plan.request.strategy_params.stake, 500, "one value is fixed");
    await visit.page.getByRole("link", { name: `trial ${result.selected.trial_index}`, exact: true }).waitFor();
  });

  await t.test("without the lab the button says so", async () => {
    const alone = await t.service({ names: ["sma_cross"], args: ["--lab", "/nowhere/lab"] });
    await alone.backtest("sma_cross", window);
    await alone.reaches("completed");
    const { items: [run] } = await alone.get("/runs?kind=service");
    const visit = await t.visit(alone.url, { path: "/ui/runs/" + run.run_id, allow: [answered(503)] });
    await visit.page.getByRole("button", { name: "Falsify", exact: true }).click();
    await visit.page.getByRole("alert").getByText("LAB_UNAVAILABLE").waitFor();
  });
}
