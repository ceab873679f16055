// U23: an idea's whole way in one tab, by links and buttons alone: the sample, a first run of one's
// own, what became of it, the attack on it and why it does not survive, the search that was planned before it began, the comparison, the data,
// the board, the cockpit. Nobody types an address or opens a terminal.
import assert from "node:assert/strict";
import { answered } from "../lib/watch.mjs";
import { says, until } from "../lib/wait.mjs";

export default async function walk(t) {
  const service = await t.service({ names: ["sma_cross"] });

  await t.test("from the first run to which idea survives", async () => {
    const visit = await t.visit(service.url, { allow: [answered(404), answered(409)] }), { page } = visit;
    const nav = (name) => page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();
    const region = (name) => page.getByRole("region", { name, exact: true }).first();
    await visit.stream("connected");
    await page.evaluate(() => (globalThis.mark = "same document"));

    // From an empty page.
    await visit.button("Run the sample").click();
    await visit.says("completed");
    const sample = (await service.status()).run_id;

    // Two runs that differ in a parameter, of a window that is cheap to attack: one trades all the time.
    await visit.fill({ strategy: "sma_cross", Timeframe: "1d", From: "2021-01-01", To: "2022-01-01", "Fast average": "2", "Slow average": "3" });
    await visit.startButton.click();
    await until(async () => (await service.status()).run_id !== sample && (await service.status()).status === "completed", "the first run");
    await visit.says("completed");
    const first = (await service.status()).run_id;
    await visit.fill({ "Fast average": "5", "Slow average": "30" });
    await visit.startButton.click();
    await until(async () => (await service.status()).run_id !== first && (await service.status()).status === "completed", "the second run");
    await visit.says("completed");

    await nav("Runs");
    for (const { run_id } of (await service.get("/runs?kind=service")).items.filter((r) => r.run_id !== sample)) await page.getByRole("checkbox", { name: `Compare ${run_id}` }).check();
    await page.getByRole("link", { name: "Compare 2 runs" }).click();
    await region("Is it real").waitFor();
    await says(region("What differs"), /fast/);
    await region("Trades").getByText(/run 1 has \d+ of \d+ alone, run 2 has \d+ of \d+ alone\.$/).waitFor();

    // The verdict of the other one, from the id of the run in the header, and of this one from the list.
    await page.getByRole("banner").getByRole("link", { name: /^svc_/ }).click();
    await region("Verdict").waitFor();
    await nav("Runs");
    await page.locator(`tr[data-id="${first}"]`).getByRole("link").first().click();
    await region("Verdict").getByText("No attempt to refute it is recorded.").waitFor();
    await page.getByRole("button", { name: "Falsify", exact: true }).click();
    await page.locator("p.job").getByRole("link", { name: "What it found" }).click({ timeout: 240_000 });
    await region("Conclusion").waitFor();
    const found = await service.get("/falsifications/" + page.url().split("/").at(-1));
    assert.equal(await page.getByRole("list", { name: "Tests" }).locator("section").count(), found.tests.length);
    // Why it does not survive: what the lab says of the gates that failed, in one sentence.
    const failed = found.tests.filter((t) => t.class === "G" && t.verdict === "fail");
    assert.deepEqual([found.overall, failed.length > 0], ["fail", true]);
    const sentence = await region("Conclusion").locator(".sentence").innerText();
    assert.match(sentence, /^This idea does not survive, because: /);
    for (const { detail } of failed) assert.ok(sentence.includes(detail), `${detail} is not in ${sentence}`);
    await page.getByRole("link", { name: "The run", exact: true }).click();
    const refuted = region("Verdict").locator("li", { hasText: "Falsification" }).getByText(/This idea does not survive: .*\d+ pass/);
    await refuted.waitFor();
    await nav("Runs"); // the lab has played it again: what was found is of the backtest as well
    await page.locator(`tr[data-id="${first}"]`).getByRole("link").first().click();
    await refuted.waitFor();

    // A search whose question is written down before its first trial.
    await nav("Families");
    const form = page.getByRole("form", { name: "Plan a search" });
    for (const [label, text] of [[/^Hypothesis/, "Trends outlast the lag of two averages."], [/^Budget/, "2"], [/^Symbols/, "BTC/USDT"], ["Timeframe", "1d"], [/^From/, "2019-01-01"], [/^To/, "2022-01-01"]]) await form.getByLabel(label).fill(text);
    await form.getByLabel("Strategy").selectOption("sma_cross");
    await form.locator("fieldset input").first().fill("5, 10");
    await form.getByLabel("Objective").selectOption("total_return");
    await form.getByRole("button", { name: "Register the plan and start" }).click();
    await page.getByText("Trends outlast the lag of two averages.").first().waitFor();
    await region("Result of the search").waitFor({ timeout: 240_000 }); // the page follows it by itself
    await until(async () => (await region("All trials").locator("tr[data-id]").count()) === 2, "two trials");
    await region("All trials").getByRole("link").first().click();
    await region("Verdict").waitFor();

    await nav("Data");
    await region("Datasets").locator("svg.coverage").first().waitFor();
    await nav("Board");
    await page.locator("[data-state=unconfigured]").waitFor();
    await nav("Live");
    await page.locator("main[data-page=live]").waitFor();
    assert.equal(await page.evaluate(() => globalThis.mark), "same document");
  });
}
