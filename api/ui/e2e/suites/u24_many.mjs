// U24: the list of ten thousand runs. Rows, requests and bytes are counted; what the clock says is told beside
// the list of a service without runs, and fails at three times the budget only.
import assert from "node:assert/strict";
import { patience, until } from "../lib/wait.mjs";
import { answered } from "../lib/watch.mjs";

/** Milliseconds in which a list is to be there, and rows of a page. */
const budget = 200, rows = 50;

/** How often the list is asked for, and how many bytes it takes. */
const lists = (visit) => visit.watch.requests.filter(({ line }) => line === "GET /api/v1/runs");

export default async function many(t) {
  const service = await t.service({ names: ["sma_cross"], state: t.config.state }), none = await t.service({ names: ["sma_cross"] });
  await service.get("/runs"); // the first list reads the registry
  const visit = await t.visit(service.url, { path: "/ui/runs", allow: [answered(409), answered(400)] }); // the runs have a locked test and no whole
  const list = visit.page.getByRole("region", { name: "List of runs" }), first = list.locator("tbody tr").first();
  const ids = () => list.locator("tbody tr").evaluateAll((all) => all.map((row) => row.dataset.id));
  /** Waits until the page shows what the API says of a query. */
  const shows = async (query) => {
    const want = (await service.get("/runs?" + query)).items.map((r) => r.run_id);
    await until(async () => JSON.stringify(await ids()) === JSON.stringify(want), "the runs of " + query);
  };
  const told = async (ask) => {
    const times = [];
    for (let i = 0; i < 5; i++) times.push(await ask());
    return Math.min(...times);
  };
  visit.kept = true;

  await t.test("it is there soon: one request, rows of one page, few bytes", async () => {
    const load = async (at, region) => {
      const begin = performance.now();
      await at.page.reload({ waitUntil: "commit" });
      await region.waitFor();
      return performance.now() - begin;
    };
    await first.waitFor();
    assert.equal(lists(visit).length, 1);
    const sizes = await lists(visit)[0].request.sizes();
    assert.ok(sizes.responseBodySize < 100_000, `${sizes.responseBodySize} bytes`);
    assert.equal(await list.locator("tbody tr").count(), rows);
    assert.match((await list.getByRole("status").first().innerText()).replaceAll(/\s/g, ""), new RegExp(`^${t.config.many}runs`));
    const empty = await t.visit(none.url, { path: "/ui/runs" }), nothing = empty.page.getByText("There is no run yet.");
    await nothing.waitFor();
    const alone = await told(() => load(empty, nothing)), took = await told(() => load(visit, first));
    assert.ok(took - alone < 3 * budget, `${took.toFixed(0)} ms, without runs ${alone.toFixed(0)} ms`);
    return `loaded in ${took.toFixed(0)} ms, without runs ${alone.toFixed(0)} ms`;
  });

  await t.test("filtered and sorted, it asks once and shows what the service says", async () => {
    const clock = async (at, act) => {
      const begin = performance.now(), answer = at.page.waitForResponse((r) => r.url().includes("/api/v1/runs?"));
      await act();
      await answer;
      await at.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
      return performance.now() - begin;
    };
    const asked = async (query, act) => {
      const before = lists(visit).length, took = await clock(visit, act);
      await shows(query);
      assert.equal(lists(visit).length, before + 1, query);
      assert.ok((await list.locator("tbody tr").count()) <= rows, query);
      return took;
    };
    const set = (name, value, at = visit) => async () => {
      const field = at.page.getByRole("search").getByRole("searchbox", { name, exact: true });
      await field.fill(value);
      await field.press("Enter");
    };
    const times = [
      await asked("slug=idea_7&sort=-completed_at", set("Strategy", "idea_7")),
      await asked("slug=idea_7&timeframe=4h&sort=-completed_at", set("Timeframe", "4h")),
      await asked("slug=idea_7&sort=-completed_at", set("Timeframe", "")),
      await asked("sort=-completed_at", set("Strategy", "")),
      await asked("sort=-sharpe_ratio", () => list.getByRole("button", { name: "Sharpe" }).click()),
      await asked("sort=sharpe_ratio", () => list.getByRole("button", { name: "Sharpe" }).click()),
    ];
    const empty = await t.visit(none.url, { path: "/ui/runs" });
    let n = 0;
    const alone = await told(() => clock(empty, set("Strategy", "idea_" + n++, empty))), took = Math.min(...times);
    assert.ok(took - alone < 3 * budget, `${times.map((x) => x.toFixed(0)).join(", ")} ms, without runs ${alone.toFixed(0)} ms`);
    assert.match(visit.page.url(), /#sort=sharpe_ratio$/);
    return `an answer is drawn in ${took.toFixed(0)} ms, without runs ${alone.toFixed(0)} ms`;
  });

  await t.test("page by page it comes to the end, no run left out or shown twice", async () => {
    await visit.page.goto(service.url + "/ui/runs#slug=idea_3&sort=-sharpe_ratio");
    await shows("slug=idea_3&sort=-sharpe_ratio");
    const total = (await service.get("/runs?slug=idea_3&limit=1")).total, seen = [], further = list.getByRole("button", { name: "Further" });
    assert.ok(total > 2 * rows || t.config.many < 10_000, `${total} runs`);
    for (let page = 1, last = Math.ceil(total / rows); page <= last; page++) {
      const size = page === last ? total - rows * (last - 1) : rows;
      await until(async () => {
        const now = await ids();
        return now.length === size && !seen.includes(now[0]) && seen.push(...now);
      }, `page ${page} of ${last}`);
      if (page < last) await further.click();
    }
    assert.equal(new Set(seen).size, total);
    if (total > rows) assert.equal(await further.getAttribute("aria-disabled"), "true", "a page behind the last");
  });

  await t.test("Back finds the page, the place in it and what is selected", async () => {
    await visit.page.goto(service.url + "/ui/runs");
    await shows("sort=-completed_at");
    await first.getByRole("checkbox").check();
    const before = (await ids())[0];
    await list.getByRole("button", { name: "Further" }).click();
    await until(async () => (await ids())[0] !== before, "the second page");
    const box = list.getByRole("region", { name: "Runs, table" }), link = list.locator("tbody tr").nth(35).getByRole("link").first(), page = await ids();
    await link.scrollIntoViewIfNeeded();
    const place = () => box.evaluate((at) => [at.scrollTop, scrollY]);
    const [top, window] = await place();
    assert.ok(top > 100, `${top} px down`);
    await link.click();
    await visit.page.getByRole("region", { name: "Verdict", exact: true }).waitFor();
    await visit.page.goBack();
    await until(async () => JSON.stringify(await ids()) === JSON.stringify(page), "the second page again");
    await until(async () => JSON.stringify(await place()) === JSON.stringify([top, window]), `${top} and ${window} px down, it is ${await place()}`);
    await list.getByText(/, 1 selected$/).waitFor({ timeout: patience });
    await list.getByRole("button", { name: "Earlier" }).click();
    await until(async () => (await ids())[0] === before, "the first page");
    assert.ok(await first.getByRole("checkbox").isChecked());
    assert.ok(await box.evaluate((at) => at.scrollTop === 0), "a page begins at its top");
  });
}
