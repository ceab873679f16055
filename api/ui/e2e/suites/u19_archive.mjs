// U19: runs, a comparison, a search and a falsification that the lab has made, as the pages show
// them: every number is the one of the API.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder } from "../lib/service.mjs";
import { says, until } from "../lib/wait.mjs";

/** How the pages write a count, whatever groups its digits. */
const inAll = (n) => new RegExp(`^${String(n).replace(/\B(?=(\d{3})+$)/g, "\\s?")} in all$`);

export default async function archive(t) {
  const state = folder(t.config, "state"), work = folder(t.config, "work");
  const lab = (...args) => JSON.parse(execFileSync(join(t.config.bin, "lab"), [...args, "--state-dir", state, "--json"], { cwd: work, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })).result;
  lab("init", "strategy", "idea");
  const usual = lab("run", "idea").run_id, short = lab("run", "idea", "--set", "period=50").run_id;
  const source = join(work, "idea", "strategy.go"), text = readFileSync(source, "utf8");
  writeFileSync(source, text.replace("v.Flat() && price >", "v.Flat() && 1.01*price >"));
  const edited = lab("run", "idea").run_id;
  writeFileSync(source, text);
  // A verdict may be a failure, which is an exit code of its own.
  const attack = () => lab("falsify", "idea", "--run", usual, "--only", "cost_stress", "--only", "delay_stress");
  try {
    attack();
  } catch (e) {
    if (e.status !== 1 && e.status !== 3) throw e;
  }
  lab("family", "plan", "idea", "--max-trials", "4", "--hypothesis", "Trends last.");
  lab("family", "run", "idea");
  const service = await t.service({ names: ["sma_cross"], state });
  const open = async (path, region) => {
    const visit = await t.visit(service.url, { path });
    await visit.page.getByRole("region", { name: region, exact: true }).first().waitFor();
    await until(async () => (await visit.page.getByText(/^Loading/).count()) === 0, "all answers");
    assert.equal(await visit.page.locator("main [role=alert]").count(), 0, "a refusal");
    return visit;
  };
  /** Of all trades of a run, page by page, what tells them apart. */
  const everyTrade = async (id, split) => {
    const all = [];
    for (let page, cursor = ""; cursor !== null; cursor = page.next_cursor) {
      page = await service.get(`/runs/${id}/trades?limit=500&split=${split}${cursor && "&cursor=" + cursor}`);
      all.push(...page.items.map((x) => x.symbol + x.direction + x.entry_time + x.exit_time));
    }
    return all;
  };
  const shown = (visit, name) => visit.page.getByRole("region", { name, exact: true }).first().innerText();

  await t.test("the list has every run, and leads to one", async () => {
    const visit = await open("/ui/runs", "List of runs"), list = await service.get("/runs");
    for (const { run_id } of list.items) await visit.page.locator(`tr[data-id="${run_id}"]`).waitFor();
    await visit.page.locator(`tr[data-id="${usual}"]`).getByRole("link").first().click();
    await visit.page.getByRole("region", { name: "Verdict", exact: true }).waitFor();
  });

  await t.test("the datasets have their coverage, and one its gaps", async () => {
    const visit = await open("/ui/data", "Datasets"), list = await service.get("/datasets?limit=200");
    assert.equal(await visit.page.locator("tr[data-id]").count(), list.total);
    for (const d of list.items) {
      const row = visit.page.locator(`tr[data-id="${d.dataset_id}"]`);
      assert.equal(await row.locator("svg.coverage rect").count(), d.coverage.length);
      assert.equal(await row.locator("svg.coverage .part").count(), d.coverage.filter((share) => share < 1).length);
      assert.ok((await row.innerText()).includes(d.holdout_start.slice(0, 10)), d.holdout_start);
    }
    const d = list.items.find((x) => x.missing > 0), gaps = await service.get(`/datasets/${d.dataset_id}/gaps`);
    await visit.page.locator(`tr[data-id="${d.dataset_id}"]`).getByRole("button").click();
    const section = visit.page.getByRole("region", { name: "Gaps", exact: true });
    await section.getByText(inAll(gaps.total)).waitFor();
    assert.equal(await section.locator("tr[data-id]").count(), gaps.items.length);
    assert.match(await shown(visit, "Dataset"), new RegExp(d.sha256.slice(0, 16)));
  });

  await t.test("a run has its orders and fills", async () => {
    const visit = await open("/ui/runs/" + usual, "Trades");
    await visit.page.getByRole("region", { name: "Trades", exact: true }).getByRole("button", { name: "PnL" }).click();
    const [best] = (await service.get(`/runs/${usual}/trades?limit=50&sort=-pnl`)).items;
    await visit.page.locator(`[role=region][aria-label="Trades, table"] tbody tr:first-child[data-id="${best.trade_id}"]`).waitFor();
    assert.match(visit.page.url(), /#sort=-pnl$/, "the order is part of the address");
    for (const [name, table] of [["Orders", "orders"], ["Fills", "fills"]]) {
      await visit.page.getByRole("group", { name: "Table" }).getByRole("button", { name, exact: true }).click();
      const rows = await service.get(`/runs/${usual}/${table}?limit=50`), section = visit.page.getByRole("region", { name, exact: true });
      await section.getByText(inAll(rows.total)).waitFor();
      assert.equal(await section.locator("tr[data-id]").count(), rows.items.length);
    }
  });

  await t.test("a run has its trades, its log, and files that can be saved", async () => {
    const visit = await open("/ui/runs/" + usual, "Log"), run = await service.get("/runs/" + usual), trades = await service.get(`/runs/${usual}/trades?limit=50`);
    assert.equal(await visit.page.locator("main tr[data-id]").filter({ hasText: "long" }).count(), trades.items.length);
    assert.match(await shown(visit, "Trades"), new RegExp(`${trades.total} in all`));
    assert.ok((await shown(visit, "Parameters and evidence")).includes(run.hashes.request.slice(0, 8)));
    const files = await service.get(`/runs/${usual}/files`), open_ = files.items.find((f) => !f.locked && f.name.includes("/"));
    const link = visit.page.getByRole("region", { name: "Files", exact: true }).getByRole("link", { name: open_.name, exact: true });
    const answer = await fetch(service.url + (await link.getAttribute("href")));
    assert.equal(answer.status, 200, open_.name);
    assert.equal((await answer.arrayBuffer()).byteLength, open_.size);
  });

  await t.test("the locked test is shown after a reason", async () => {
    const visit = await open("/ui/runs/" + short, "Splits");
    const row = visit.page.locator('tr[data-id="test"]');
    await says(row, /locked/);
    await visit.page.getByLabel("Reason for the look").fill("the choice is made");
    await visit.page.getByRole("button", { name: "Reveal the test" }).click();
    await until(async () => !/locked/.test(await row.innerText()), "the numbers of the test");
    assert.equal((await service.get("/runs/" + short)).test.state, "seen");
  });

  await t.test("tags and note are kept", async () => {
    const visit = await open("/ui/runs/" + usual, "Tags and note");
    await visit.page.getByLabel("Tags, between commas").fill("trend, kept");
    await visit.page.getByRole("button", { name: "Save" }).click();
    await visit.page.getByText("Saved.").waitFor();
    assert.deepEqual((await service.get("/runs/" + usual)).tags, ["trend", "kept"]);
  });

  await t.test("two runs are compared", async () => {
    const visit = await open(`/ui/compare?ids=${usual},${short}`, "What differs"), c = await service.get(`/compare?ids=${usual},${short}`);
    assert.match(await shown(visit, "What differs"), /period/);
    assert.ok((await shown(visit, "Is it real")).replaceAll(/\s/g, "").includes(String(c.pairs[0].days)), "the days of the difference");
    assert.equal(await visit.page.getByRole("region", { name: "Equity", exact: true }).locator("path.curve").count(), 2);
    const [a, b] = await Promise.all([usual, short].map((id) => everyTrade(id, c.split))), common = a.filter((t) => b.includes(t)).length;
    assert.match((await shown(visit, "Trades")).replaceAll(/(?<=\d)\s(?=\d)/g, ""), new RegExp(`${common} trades? (is|are) the same in all runs; run 1 has ${a.length - common} of ${a.length} alone, run 2 has ${b.length - common} of ${b.length} alone`));
  });

  await t.test("two programs are compared by their sources", async () => {
    const visit = await open(`/ui/compare?ids=${usual},${edited}`, "Sources"), { program } = await service.get(`/compare?ids=${usual},${edited}`);
    assert.equal(program.equal, false);
    assert.deepEqual(program.diff.map((d) => [d.run_id, d.note, d.files.map((f) => f.path)]), [[edited, null, ["strategy.go"]]]);
    assert.equal(await visit.page.locator("pre.diff").innerText(), program.diff[0].files[0].diff);
    await says(visit.page.locator("pre.diff .added"), /1\.01\*price/);
    assert.match(await shown(await open(`/ui/compare?ids=${usual},${short}`, "Sources"), "Sources"), /All are the same program\./);
  });

  await t.test("a search has its plan, its progress and its trials", async () => {
    const { items: [plan] } = await service.get("/families"), trials = await service.get(`/families/${plan.plan_id}/trials`);
    const visit = await open("/ui/families/" + plan.plan_id, "All trials");
    // What the search as a whole has earned is drawn from the windows, and ends where its return says.
    const { result, luck } = await service.get("/families/" + plan.plan_id), whole = result.walk_forward_optimised;
    if (whole?.windows.some((w) => w.chosen_trial !== null)) {
      const label = await visit.page.getByRole("region", { name: "Walk-forward optimised", exact: true }).getByRole("img").first().getAttribute("aria-label");
      const [from, to] = label.replaceAll(/(?<=\d)\s(?=\d)/g, "").match(/\d+/g).map(Number);
      assert.ok(Math.abs(to / from - 1 - whole.metrics.total_return) < 2 / from, `${label}: ${whole.metrics.total_return}`);
    }
    const against = await shown(visit, "The trials against luck");
    assert.match(against, luck ? new RegExp(`is expected at ${luck.expected_max.toFixed(2)}`) : /is not known/);
    assert.match(await shown(visit, "Progress"), /Trends last\.[^]*4 of 4 trials/);
    assert.equal(await visit.page.getByRole("region", { name: "All trials", exact: true }).locator("tr[data-id]").count(), trials.items.length);
    await (await open("/ui/families", "Planned searches")).page.getByRole("link", { name: plan.plan_id.slice(0, 12) }).waitFor();
  });

  await t.test("a search whose result is damaged says so, and shows the rest", async () => {
    const { items: [plan] } = await service.get("/families"), file = join(state, "families", plan.slug, plan.plan_id, "family_result.json"), whole = readFileSync(file);
    writeFileSync(file, whole.subarray(1));
    const visit = await t.visit(service.url, { path: "/ui/families/" + plan.plan_id });
    await visit.page.getByRole("alert").getByText("family_result.json is not what was written").waitFor();
    await until(async () => (await visit.page.getByRole("region", { name: "All trials", exact: true }).locator("tr[data-id]").count()) === 4, "four trials");
    assert.match(await shown(visit, "Progress"), /4 of 4 trials/);
    writeFileSync(file, whole);
    await visit.page.getByRole("region", { name: "Result of the search" }).waitFor();
    assert.equal(await visit.page.locator("main [role=alert]").count(), 0);
  });

  await t.test("a falsification has its tests, failures first", async () => {
    const { items } = await service.get("/falsifications"), found = await service.get("/falsifications/" + items[0].run_id);
    const visit = await open("/ui/falsifications/" + items[0].run_id, "Conclusion");
    const tests = await visit.page.getByRole("list", { name: "Tests" }).locator("section").evaluateAll((all) => all.map((x) => x.getAttribute("aria-label")));
    assert.deepEqual(new Set(tests), new Set(found.tests.map((x) => x.id)));
    // The conclusion is the lab's: a test that only warns refutes nothing.
    const words = { fail: /^This idea does not survive, because: /, inconclusive: /^Nothing is shown either way/, warn: /^No test refuted it, but/, pass: /^Nothing refuted it: / };
    await says(visit.page.getByRole("region", { name: "Conclusion", exact: true }).locator(".sentence"), words[found.overall]);
    await visit.page.getByText(`lab falsify idea --run ${usual} --force --only cost_stress`).waitFor();
    for (const link of await visit.page.getByRole("list", { name: "Tests" }).getByRole("link").all()) {
      assert.equal((await fetch(service.url + (await link.getAttribute("href")))).status, 200, await link.innerText());
    }
  });
}
