// U3: a long backtest is stopped, reset, and started again in one go.
import assert from "node:assert/strict";
import { keeps, until } from "../lib/wait.mjs";

export default async function stop(t) {
  const service = await t.service({ names: ["sleeper", "stops", "sma_cross"] });

  await t.test("a stopped backtest says that it is partial, and starts again", async () => {
    const visit = await t.visit(service.url);
    await visit.stream("connected");
    await visit.fill({ strategy: "sleeper", "Sleep ms": 5 });
    await visit.startButton.click();
    await visit.says("running");
    await until(async () => (await service.status()).candles_done > 50, "some candles");
    await visit.button("Stop").click();
    await visit.says("completed");
    const results = await service.results();
    assert.equal(results.partial, true);
    await visit.page.getByText("Stopped before the end of its data: not evidence for the whole window.").waitFor();
    await visit.page.getByRole("region", { name: "Outcome" }).getByText("stopped").waitFor();
    await visit.agrees(results);
    await (await visit.open("Evidence")).getByText(/^Partial/).waitFor();

    await visit.button("Replace and start").click();
    await visit.says("running");
    await until(async () => (await service.status()).run_id !== results.run_id, "another run");
    await visit.page.getByText("Stopped before the end of its data: not evidence for the whole window.").waitFor({ state: "detached" });
    await visit.button("Stop").click();
    await visit.says("completed");
    await visit.form.getByRole("button", { name: "Reset", exact: true }).click();
    await visit.says("idle");
    assert.equal((await service.status()).status, "idle");
    await keeps(visit.field("Sleep ms"), "5");
    await visit.page.getByRole("region", { name: "No run yet" }).waitFor();
    // A reset takes nothing away: the runs are a link away.
    await visit.page.getByRole("link", { name: "Earlier runs" }).click();
    await visit.page.locator(`tr[data-id="${results.run_id}"]`).waitFor();
  });

  await service.clear();
  await t.test("stop says that it is under way while the plugin does not listen", async () => {
    const visit = await t.visit(service.url);
    await service.backtest("stops");
    await visit.says("running");
    // The plugin's process halts at candle 700: the service gives it some seconds to end, then kills it.
    await until(async () => {
      const { phase, runtime_seconds: seconds } = await service.status();
      return phase === "trading" && seconds > 0.5;
    }, "the plugin to halt");
    await visit.button("Stop").click();
    const stopping = visit.button(/^Stopping…/);
    await stopping.press("Enter"); // a second press is harmless
    await visit.button(/^Stopping….* [1-9]\d* s/).waitFor();
    await visit.says("completed");
    const results = await service.results();
    await visit.page.getByRole("region", { name: "Outcome" }).getByText((await service.status()).message).waitFor();
    await visit.agrees(results);
    await service.clear();
    await visit.says("idle");
  });

  await service.clear();
  await t.test("run this again fills the form with the run of the evidence", async () => {
    const visit = await t.visit(service.url);
    await visit.stream("connected");
    await service.backtest("sma_cross", { strategy_params: { fast: 7, slow: 21 }, start_date: "2022-01-01", end_date: "2022-06-01", initial_cash: 2500 });
    await visit.says("completed");
    await visit.has(await service.results());
    await (await visit.open("Evidence")).getByRole("button", { name: "Run this again" }).click();
    for (const [label, text] of [["Fast average", "7"], ["Slow average", "21"], ["From", "2022-01-01"], ["To", "2022-06-01"], ["Cash", "2500"]]) {
      assert.match(await visit.field(label).inputValue(), new RegExp("^" + text), label);
    }
    const before = await service.results();
    await visit.button("Replace and start").click();
    await until(async () => {
      const { run_id: id, status } = await service.status();
      return id && id !== before.run_id && status === "completed";
    }, "the second run");
    const after = await service.results();
    assert.equal(after.result_hash, before.result_hash);
    await visit.agrees(after);
  });
}
