// U4: plugins that crash, hang, break the protocol or do not even start.
import assert from "node:assert/strict";
import { answered } from "../lib/watch.mjs";
import { says, until } from "../lib/wait.mjs";

export default async function failures(t) {
  // A hanging plugin is given 30 s: that time passes while the rest is tested.
  const hanging = await t.service({ names: ["hangs"] });
  const hangs = await hanging.backtest("hangs");

  const service = await t.service({ names: ["exits", "panics", "leaves", "stillborn", "sma_cross"], scripts: { broken: "#!/bin/sh\nexit 7\n" } });

  for (const [name, code, exit, words] of [
    ["exits", "PLUGIN_CRASHED", "3", /last words/], ["panics", "STRATEGY_ERROR", null, /no idea/], ["leaves", "PLUGIN_PROTOCOL_ERROR|PLUGIN_CRASHED", null, /./],
  ]) {
    await t.test(`a plugin that ${name} makes a red panel with code, log and advice`, async () => {
      const visit = await t.visit(service.url);
      await visit.stream("connected");
      await visit.fill({ strategy: name });
      await visit.startButton.click();
      await visit.says("failed");
      const results = await service.results();
      const panel = await failed(visit, results, code);
      if (exit !== null) await says(panel, new RegExp(`Exit code\\s+${exit}`));
      await says(panel, words);
      const report = await copied(visit, panel);
      assert.deepEqual(report.error_details, results.error_details);
      assert.equal(report.run.run_id, results.run_id);
      assert.equal(report.config.strategy_name, name);
      assert.equal("exchange_config" in report.config, false);
      await visit.agrees(results);
      await visit.form.getByRole("button", { name: "Reset", exact: true }).click();
      await visit.says("idle");
    });
  }

  await t.test("the advice leads to the page that explains the code", async () => {
    const visit = await t.visit(service.url, { also: [/^GET \/docs\/(errors|style\.css)$/] });
    await service.backtest("exits");
    await visit.says("failed");
    await visit.page.getByRole("link", { name: /^More about PLUGIN_CRASHED/ }).click();
    await visit.page.waitForURL(/\/docs\/errors#/);
    const target = await visit.page.evaluate(() => document.getElementById(location.hash.slice(1))?.textContent ?? "");
    assert.match(target, /PLUGIN_CRASHED/);
    await service.clear();
  });

  await t.test("a plugin that cannot start is refused in place, with its last words", async () => {
    const visit = await t.visit(service.url, { allow: [answered(500)] });
    await visit.stream("connected");
    await visit.fill({ strategy: "stillborn" });
    await visit.startButton.click();
    const alert = visit.form.getByRole("alert");
    await alert.getByText("RUN_START_FAILED").waitFor();
    await alert.getByText("Log of the plugin").click();
    await alert.getByText("never alive").waitFor();
    assert.equal((await service.status()).status, "idle");
  });

  await t.test("an unavailable strategy is greyed in the list, with its reason", async () => {
    const visit = await t.visit(service.url);
    const option = visit.form.getByRole("combobox", { name: "Strategy" }).getByRole("option", { name: /broken/ });
    assert.equal(await option.getAttribute("disabled") !== null, true);
    const { error } = (await service.get("/strategies")).find(({ name }) => name === "broken");
    await visit.form.getByText("1 unavailable").click();
    await visit.form.getByText(error.message).waitFor();
    await visit.button(/^plugins 5\/6/).click();
    await visit.page.getByText("1 of 6 unavailable").waitFor();
  });

  await t.test("without any strategy the page says how to get one", async () => {
    const bare = await t.service({ names: [] });
    const visit = await t.visit(bare.url);
    await visit.page.getByRole("heading", { name: /No strategy/ }).waitFor();
    await visit.page.getByText(/restart the service to load it/i).waitFor();
    assert.equal(await visit.button("Run the sample").count(), 0);
  });

  await t.test("a plugin that hangs fails when its time is over", async () => {
    const visit = await t.visit(hanging.url);
    const status = await hanging.reaches("failed");
    assert.equal(status.run_id, hangs.run_id);
    const panel = await failed(visit, await hanging.results(), "PLUGIN_TIMEOUT");
    await says(panel, /thinking/);
  });
}

async function failed(visit, results, code) {
  assert.match(results.error_details.code, new RegExp(`^(${code})$`));
  const panel = visit.page.getByRole("alert").filter({ hasText: results.error_details.code });
  await panel.waitFor();
  const text = await panel.innerText();
  for (const part of [results.error, "What to do"]) assert.ok(text.includes(part), `${part} is not in\n${text}`);
  assert.match(text, /Phase\s+\S+/);
  assert.equal(await panel.locator("pre.tail").first().evaluate((e) => e.scrollTop + e.clientHeight >= e.scrollHeight - 2).catch(() => true), true, "the newest lines are seen");
  if (results.error_details.candle_time) assert.ok(text.includes(results.error_details.candle_time.slice(0, 16).replace("T", " ")), text);
  return panel;
}

async function copied(visit, panel) {
  await panel.getByRole("button", { name: "Copy report" }).click();
  return until(async () => JSON.parse(await visit.page.evaluate(() => navigator.clipboard.readText())), "the report");
}
