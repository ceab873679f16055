// ring: test
// U2: the form that is made from a schema: every kind of control, and errors at their
// fields. Nothing that was typed is lost.
import assert from "node:assert/strict";
import { answered } from "../lib/watch.mjs";
import { keeps, until } from "../lib/wait.mjs";

/** A short window: the strategy is asked at every candle. */
const window = { From: "2022-04-01", To: "2022-04-03" };

export default async function form(t) {
  const service = await t.service({ names: ["widgets", "sma_cross"] });

  await t.test("each parameter has its control with label, unit, group and default", async () => {
    const visit = await open(t, service);
    const { form } = visit;
    for (const [role, name, value] of [
      ["textbox", /^Fast length · candles/, "10"], ["textbox", /^Slow length · candles/, "30"], ["slider", /^Threshold/, "0.5"], ["textbox", /^Threshold/, "0.5"],
      ["textbox", /^Label/, ""], ["textbox", /^Notes/, ""],
    ]) {
      assert.equal(await form.getByRole(role, { name }).inputValue(), value, `${role} ${name}`);
    }
    assert.equal(await form.getByRole("switch", { name: "Long only" }).isChecked(), true);
    assert.equal(await form.getByRole("checkbox", { name: "Wait for the close" }).isChecked(), false);
    const average = form.getByRole("combobox", { name: "Average" });
    assert.deepEqual((await average.getByRole("option").allInnerTexts()).map((o) => o.split(" ")[0]), ["simple", "exponential", "weighted"]);
    assert.equal(await visit.field("Notes").evaluate((e) => e.tagName), "TEXTAREA");
    assert.deepEqual(await visit.field("Pin").evaluate((e) => [e.type, e.autocomplete]), ["password", "off"]);
    assert.deepEqual(await form.getByRole("button", { name: /^Remove (1|2\.5)$/ }).count(), 2, "levels");
    assert.deepEqual(JSON.parse(await visit.field("Rules").inputValue()), { weekend: false });
    assert.equal(await form.getByRole("group", { name: "Entry" }).getByRole("textbox").count(), 3);
    await form.getByText("Candles of the fast line").waitFor();
    assert.equal(await visit.field("Seed").isVisible(), false, "advanced ones are folded");
    await form.getByText("Advanced", { exact: true }).click();
    await keeps(visit.field("Seed"), "7");
  });

  await t.test("the execution options come from the contract", async () => {
    const visit = await open(t, service);
    await visit.form.getByText("Execution", { exact: true }).click();
    const { components } = await (await fetch(service.url + "/openapi.json")).json();
    const names = Object.keys(components.schemas.ExecutionOptions.properties);
    const count = await visit.form.evaluate((form) => {
      const part = [...form.querySelectorAll("details")].find((d) => d.querySelector("summary").textContent.startsWith("Execution"));
      return part.querySelectorAll(".control").length;
    });
    assert.equal(count, names.length, names.join());
  });

  await t.test("the page itself says what is not right, and leads there", async () => {
    const visit = await open(t, service);
    await visit.fill({ "Fast length": "0", Rules: "{broken" });
    await visit.field("Slow length").focus();
    await invalid(visit, "Fast length", /1/);
    await invalid(visit, "Rules", /JSON/i);
    await visit.startButton.press("Enter"); // it is not disabled for the keyboard: it says why not
    const summary = visit.form.getByRole("alert");
    await until(() => summary.evaluate((e) => e === document.activeElement), "the summary to have the focus");
    await summary.getByRole("button", { name: /^Fast length/ }).click();
    assert.equal(await visit.field("Fast length").evaluate((e) => e === document.activeElement), true);
    assert.equal((await service.status()).status, "idle");
  });

  await t.test("errors of service and plugin land at their fields, and all values stay", async () => {
    const visit = await open(t, service, { allow: [answered(400)] });
    const typed = { "Fast length": "40", "Slow length": "35", Label: "abc", Notes: "two\nlines", Rules: '{"weekend":true,"size":4}', Cash: "5000", ...window };
    await visit.fill(typed);
    await visit.form.getByRole("switch", { name: "Long only" }).uncheck();
    await visit.startButton.click();
    await invalid(visit, "Fast length", /must be below slow/i);
    const summary = visit.form.getByRole("alert");
    await until(() => summary.evaluate((e) => e.contains(document.activeElement)), "the summary to have the focus");
    await holds(visit, typed);
    await visit.fill({ "Fast length": "20", Rules: '{"weekend":true,"size":9}' });
    await visit.startButton.click();
    await invalid(visit, "Rules", /5|maximum/i);
    assert.notEqual(await visit.field("Fast length").getAttribute("aria-invalid"), "true", "what was put right is right");
    await visit.fill({ Rules: '{"weekend":true,"size":4}' });
    await visit.startButton.click();
    await visit.says("completed");
    const { config } = await service.results();
    assert.deepEqual(config.strategy_params, {
      average: "simple", confirm: false, fast: 20, label: "abc", levels: [1, 2.5], long_only: false, notes: "two\nlines", pin: "", rules: { size: 4, weekend: true }, seed: 7,
      slow: 35, threshold: 0.5,
    });
    assert.equal(config.initial_cash, 5000);
    await holds(visit, { ...typed, "Fast length": "20" });
    await service.clear();
  });

  await t.test("each control changes what is sent", async () => {
    const visit = await open(t, service);
    const { form } = visit;
    await visit.fill(window);
    await form.getByRole("slider", { name: /^Threshold/ }).press("ArrowRight");
    await form.getByRole("checkbox", { name: "Wait for the close" }).check();
    await form.getByRole("combobox", { name: "Average" }).selectOption({ label: "weighted" });
    await form.getByRole("button", { name: "Remove 1", exact: true }).click();
    const levels = form.getByRole("textbox", { name: /^Levels/ }).or(form.getByRole("combobox", { name: /^Levels/ }));
    await levels.fill("7.25");
    await levels.press("Enter");
    await visit.field("Pin").fill("1234");
    await form.getByText("Advanced", { exact: true }).click();
    await visit.field("Seed").fill("99");
    await visit.field("Label").press("Control+Enter");
    await visit.says("completed");
    const { strategy_params: params } = (await service.results()).config;
    assert.deepEqual([params.threshold, params.confirm, params.average, params.levels, params.pin, params.seed], [0.55, true, "weighted", [2.5, 7.25], "1234", 99]);
    await service.clear();
  });

  await t.test("a window ends at the hold-out; going beyond is asked about once", async () => {
    const visit = await open(t, service), ask = visit.page.getByRole("dialog", { name: "Look at the hold-out?" });
    const [sample] = (await service.get("/exchanges")).filter((e) => e.id === "sample"), held = sample.date_range["BTC/USDT"]["1h"].holdout_start;
    await visit.fill({ strategy: "sma_cross", From: "2022-12-01", To: "" });
    await visit.button(/tart$/).click();
    await visit.says("completed");
    assert.equal((await service.results()).config.window.end, held);
    const beyond = async () => {
      await visit.fill({ To: "2023-01-01" });
      await visit.button(/tart$/).click();
    };
    await beyond();
    await ask.getByRole("button", { name: "Cancel" }).click();
    assert.equal((await service.results()).config.window.end, held);
    await beyond();
    await ask.getByRole("button", { name: "Look and start" }).click();
    await until(async () => (await service.get("/status")).status === "completed" && (await service.results()).config.window.end === "2023-01-01T00:00:00.000Z", "the run beyond");
    await visit.says("completed");
    const { run_id } = await service.results();
    await beyond();
    await until(async () => (await service.get("/status")).run_id !== run_id, "a start without a question");
    await service.clear();
  });

  await t.test("each series that a strategy publishes can be switched off and on", async () => {
    await service.backtest("widgets", { start_date: window.From, end_date: window.To });
    const visit = await t.visit(service.url);
    await visit.says("completed");
    const switches = visit.page.getByRole("group", { name: "Series of the strategy" }).getByRole("button");
    await until(async () => (await switches.allInnerTexts()).length === 2, "a switch for each series");
    assert.deepEqual((await switches.allInnerTexts()).map((name) => name.trim()).sort(), ["hour", "middle"]);
    await until(async () => (await visit.drawn()).lines.split(",").length === 2, "both lines");
    // What a canvas shows can only be compared.
    const plot = () => visit.chart.locator("canvas").first().screenshot();
    const both = await settled(plot);
    await visit.button("hour", { pressed: true }).click();
    const one = await until(async () => !(await plot()).equals(both) && settled(plot), "a line to go");
    await visit.button("hour", { pressed: false }).click();
    await until(async () => (await plot()).equals(both), "the line to come back");
    assert.equal(one.equals(both), false);
  });

  await service.clear();
  await t.test("theme, strategy and a reload leave everything where it is; a password is not kept", async () => {
    const visit = await open(t, service);
    const typed = { "Fast length": "12", Notes: "kept", ...window };
    await visit.fill({ ...typed, Pin: "canary-pin" });
    await visit.button(/^Theme/).click();
    await holds(visit, typed);
    await visit.fill({ strategy: "sma_cross" });
    await visit.field("Fast average").fill("5");
    await visit.fill({ strategy: "widgets" });
    await holds(visit, typed);
    await visit.page.reload();
    await until(() => holds(visit, typed).then(() => true), "the form after a reload");
    await visit.fill({ strategy: "sma_cross" });
    await keeps(visit.field("Fast average"), "5");
    assert.equal(await visit.page.evaluate(() => JSON.stringify({ ...localStorage }).includes("canary-pin")), false);
    assert.deepEqual(await visit.page.evaluate(() => Object.keys(localStorage).sort()), ["assay.form", "assay.shortcuts", "assay.theme"]);
  });

  await t.test("symbols are chips with suggestions and free text", async () => {
    const visit = await open(t, service, { allow: [answered(400)] });
    const box = visit.form.getByRole("combobox", { name: "Symbols" });
    await visit.button("Remove BTC/USDT").click();
    await box.fill("BTC");
    await visit.page.getByRole("option", { name: /BTC\/USDT/ }).click();
    await visit.button("Remove BTC/USDT").click();
    await box.fill("DOGE/USDT");
    await box.press("Enter");
    await visit.button("Remove DOGE/USDT").waitFor();
    await visit.startButton.click();
    await until(async () => (await visit.form.getByRole("alert").count()) > 0, "the refusal");
    assert.equal((await service.status()).status, "idle");
    await visit.button("Remove DOGE/USDT").waitFor();
  });
}

/** A picture that is the same twice. */
async function settled(picture) {
  let last = await picture();
  return until(async () => {
    const now = await picture();
    const same = now.equals(last);
    last = now;
    return same && now;
  }, "a picture that stands still");
}

async function open(t, service, options) {
  const visit = await t.visit(service.url, options);
  await visit.stream("connected");
  await visit.fill({ strategy: "widgets" });
  await visit.field("Fast length").waitFor();
  return visit;
}

async function holds(visit, typed) {
  for (const [label, text] of Object.entries(typed)) await keeps(visit.field(label), text);
}

/** The field says that it is wrong, and its description says why. */
async function invalid(visit, label, message) {
  const field = visit.field(label);
  await until(async () => (await field.getAttribute("aria-invalid")) === "true", `${label} to be marked`);
  const text = await field.evaluate((e) => (e.getAttribute("aria-describedby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join(" "));
  assert.match(text, message, label);
}
