// U5: another client starts a run while the form is open. The proxy holds the news back,
// so that the page does not know of it when Start is pressed.
import assert from "node:assert/strict";
import { answered } from "../lib/watch.mjs";
import { keeps, until } from "../lib/wait.mjs";

export default async function conflict(t) {
  const service = await t.service({ names: ["sleeper", "sma_cross"] });

  await t.test("a run of another client is named in place: stop it, reset it, try again", async () => {
    const { visit, front } = await unaware(t, service);
    const other = await service.backtest("sleeper", { strategy_params: { sleep_ms: 5 } });
    await visit.startButton.click();
    const alert = visit.form.getByRole("alert");
    await alert.getByText(other.run_id).waitFor();
    await alert.getByText(/A run is already active/).waitFor();
    await intact(visit);
    front.release();
    await visit.says("running");
    await alert.getByText(/sleeper on BTC\/USDT/).waitFor();
    await alert.getByRole("button", { name: "Stop it" }).click();
    await visit.says("completed");
    await alert.getByRole("button", { name: "Reset it" }).click();
    await visit.says("idle");
    await alert.getByRole("button", { name: "Try again" }).click();
    await visit.says("completed");
    await ran(service);
  });

  await t.test("an ended run of another client is reset from the form", async () => {
    const { visit, front } = await unaware(t, service);
    const other = await service.backtest("sma_cross");
    await service.reaches("completed");
    await visit.startButton.click();
    const alert = visit.form.getByRole("alert");
    await alert.getByText(other.run_id).waitFor();
    await alert.getByRole("button", { name: "Reset it" }).click();
    await until(async () => (await service.status()).status === "idle", "the reset");
    front.release();
    await alert.getByRole("button", { name: "Try again" }).click();
    await visit.says("completed");
    await ran(service);
  });

  await t.test("an ended run of another client is replaced from the form", async () => {
    const { visit, front } = await unaware(t, service);
    const other = await service.backtest("sma_cross");
    await service.reaches("completed");
    await visit.startButton.click();
    const alert = visit.form.getByRole("alert");
    await alert.getByText(other.run_id).waitFor();
    await alert.getByRole("button", { name: "Replace it" }).click();
    await until(async () => (await service.status()).run_id !== other.run_id, "another run");
    front.release();
    await visit.says("completed");
    await ran(service);
  });

  await t.test("a refused start leaves the result that is shown", async () => {
    await service.clear();
    const visit = await t.visit(service.url, { allow: [answered(400)] });
    await service.backtest("sma_cross");
    await visit.says("completed");
    const before = await service.results();
    await visit.fill({ strategy: "sma_cross", "Fast average": "50", "Slow average": "20" });
    await visit.button("Replace and start").click();
    await visit.form.getByRole("alert").getByText(/must be below slow|below/).first().waitFor();
    await visit.agrees(before);
    assert.equal((await service.results()).run_id, before.run_id);
  });

  await t.test("before the stream has said a word the page knows what is on, and before any answer it claims nothing", async () => {
    await service.clear();
    const run = await service.backtest("sleeper", { strategy_params: { sleep_ms: 5 } });
    const front = await t.proxy(service.url, { hold: true });
    const visit = await t.visit(front.url);
    await visit.says("running");
    await visit.button("Stop").waitFor();
    await visit.form.getByText("A run is active: stop it or wait.").waitFor();
    front.release();
    await visit.stream("connected");
    assert.equal((await service.status()).run_id, run.run_id);

    const silent = await t.proxy(service.url, { stream: "hang" });
    const before = ({ context }) => context.route(/\/api\/v1\/status$/, () => {}); // no answer either
    const unknown = await t.visit(silent.url, { before });
    await unknown.page.getByRole("banner").locator("[data-status=unknown]").getByText("connecting…").waitFor();
    await unknown.form.getByText("Connecting to the service…").waitFor();
    assert.equal(await unknown.startButton.getAttribute("aria-disabled"), "true");
  });

  await t.test("a page that knows of the run says why it does not start", async () => {
    await service.clear();
    const visit = await t.visit(service.url, { allow: [answered(409)] }); // the results may be gone before they are asked for
    await visit.stream("connected");
    await fill(visit);
    await service.backtest("sleeper");
    await visit.says("running");
    await visit.form.getByText("A run is active: stop it or wait.").waitFor();
    assert.equal(await visit.startButton.getAttribute("aria-disabled"), "true");
    await visit.field("Slow average").press("Control+Enter");
    assert.equal((await service.results().catch(() => null)), null, "it runs on");
    await service.clear();
    await visit.says("idle");
    await intact(visit);
  });
}

const typed = { "Fast average": "9", "Slow average": "27", Cash: "777" };

const fill = (visit) => visit.fill({ strategy: "sma_cross", ...typed });

async function unaware(t, service) {
  await service.clear();
  const front = await t.proxy(service.url, { hold: false });
  const visit = await t.visit(front.url, { allow: [answered(409)] });
  await visit.stream("connected");
  await fill(visit);
  front.rules.hold = true;
  return { visit, front };
}

async function intact(visit) {
  for (const [label, text] of Object.entries(typed)) await keeps(visit.field(label), text);
}

async function ran(service) {
  await service.reaches("completed"); // the page may have said so of the run before
  const { config } = await service.results();
  assert.deepEqual([config.strategy_name, config.strategy_params.fast, config.strategy_params.slow, config.initial_cash], ["sma_cross", 9, 27, 777]);
}
