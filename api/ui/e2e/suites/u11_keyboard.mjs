// U11: everything without a mouse.
import assert from "node:assert/strict";
import { until } from "../lib/wait.mjs";

export default async function keyboard(t) {
  const service = await t.service({ names: ["sleeper", "sma_cross"] });

  await t.test("start, switch tabs, select a trade, stop, reset", async () => {
    const visit = await t.visit(service.url);
    await visit.stream("connected");
    const { keyboard } = visit.page;
    await keyboard.press("Tab");
    assert.match(await focused(visit), /^Skip to the run/);
    await tabTo(visit, "Strategy");
    await keyboard.type("sleeper");
    await visit.field("Sleep ms").waitFor();
    await tabTo(visit, "Sleep ms");
    await keyboard.press("Control+A");
    await keyboard.type("2");
    await keyboard.press("Control+Enter");
    await visit.says("running");
    await until(async () => (await service.status()).trade_count > 20, "some trades");

    await tabTo(visit, "Trades", 80);
    await keyboard.press("ArrowRight");
    assert.match(await focused(visit), /^Orders/);
    await keyboard.press("End");
    assert.match(await focused(visit), /^Log/);
    assert.equal(await visit.tab("Log").getAttribute("aria-selected"), "true");
    await keyboard.press("ArrowRight");
    assert.match(await focused(visit), /^Trades/, "the row of tabs is a ring");
    await keyboard.press("Home");

    await tabBack(visit, "Stop");
    await keyboard.press("Enter");
    await visit.says("completed");
    const results = await service.results();
    await visit.agrees(results);
    assert.notEqual(await visit.page.evaluate(() => document.activeElement.tagName), "BODY", "the focus is not lost with the button");

    await tabTo(visit, "Trades", 80);
    await intoGrid(visit);
    await keyboard.press("ArrowDown");
    await keyboard.press("ArrowDown");
    await keyboard.press("Enter");
    const grid = visit.page.getByRole("grid", { name: "Trades" });
    const chosen = grid.getByRole("row", { selected: true });
    await chosen.waitFor();
    await tabBack(visit, "Reset");
    await keyboard.press("Enter");
    await visit.says("idle");
    assert.equal((await service.status()).status, "idle");
  });

  await t.test("a table moves by row, page and end, and the chart by arrows, plus, minus and 0", async () => {
    await service.backtest("sma_cross");
    await service.reaches("completed");
    const results = await service.results();
    const visit = await t.visit(service.url);
    await visit.agrees(results);
    const { keyboard } = visit.page;
    await tabTo(visit, "Trades", 80);
    await intoGrid(visit);
    const row = () => visit.page.evaluate(() => Number(document.activeElement.closest("[role=row]")?.getAttribute("aria-rowindex")));
    const column = () => visit.page.evaluate(() => [...document.activeElement.parentElement.children].indexOf(document.activeElement));
    const moves = async (key, check, what) => {
      await keyboard.press(key);
      await until(async () => check(await row()), `${key}: ${what}`);
    };
    await moves("Control+Home", (at) => at <= 2, "the first row");
    if ((await row()) === 1) await moves("ArrowDown", (at) => at === 2, "out of the head");
    await moves("ArrowDown", (at) => at === 3, "one down");
    await moves("PageDown", (at) => at > 5, "a page down");
    await moves("Control+End", (at) => at === results.trades.length + 1, "the last row");
    await moves("PageUp", (at) => at < results.trades.length - 2, "a page up");
    await keyboard.press("Home");
    assert.equal(await column(), 0);
    await keyboard.press("ArrowRight");
    assert.equal(await column(), 1);

    await tabBack(visit, "Chart of BTC/USDT", 80);
    await keyboard.press("+");
    await until(async () => (await visit.drawn()).view === "part", "a zoom");
    const zoomed = await visit.drawn();
    await until(async () => (await visit.drawn()).points > 0 && (await visit.drawn()).from >= zoomed.from, "the points of the stretch");
    await keyboard.press("ArrowLeft");
    await keyboard.press("-");
    await keyboard.press("0");
    await until(async () => (await visit.drawn()).view === "all", "everything");
    await tabTo(visit, "Data as a table");
    await keyboard.press("Enter");
    await visit.page.getByRole("region", { name: "Data of the chart" }).getByRole("row").nth(3).waitFor();
  });

  await t.test("help opens with ?, closes with Esc and gives the focus back; single letters only when switched on", async () => {
    const visit = await t.visit(service.url);
    await visit.says("completed");
    const { keyboard } = visit.page;
    await tabTo(visit, "Theme");
    const theme = () => visit.button(/^Theme/).getAttribute("aria-label");
    const before = await theme();
    await keyboard.press("t");
    assert.equal(await theme(), before, "letters are off");
    await keyboard.press("?");
    const help = visit.page.getByRole("dialog", { name: "Help" });
    await help.waitFor();
    await tabTo(visit, "Single-letter keys");
    await keyboard.press("Space");
    await keyboard.press("Escape");
    await help.waitFor({ state: "detached" });
    assert.match(await focused(visit), /^Theme/);
    await keyboard.press("t");
    assert.notEqual(await theme(), before);
    for (const [key, name] of [["2", "Orders"], ["5", "Metrics"], ["7", "Log"], ["1", "Trades"]]) {
      await keyboard.press(key);
      assert.equal(await visit.tab(name).getAttribute("aria-selected"), "true", key);
    }
    await tabTo(visit, "Cash", 80);
    await keyboard.press("Control+A");
    await keyboard.type("123");
    assert.equal(await visit.tab("Trades").getAttribute("aria-selected"), "true", "not while typing");
    await tabBack(visit, "Theme", 80);
    await keyboard.press("r");
    await visit.says("idle");
    await service.backtest("sleeper");
    await visit.says("running");
    await keyboard.press("s");
    await visit.says("completed");
  });

  await t.test("the focus goes once around the page in reading order, always visible", async () => {
    await service.clear();
    await service.backtest("sma_cross");
    const visit = await t.visit(service.url);
    await visit.says("completed");
    await visit.agrees(await service.results());
    const seen = [];
    for (let i = 0; i < 150; i++) {
      await visit.page.keyboard.press("Tab");
      const at = await visit.page.evaluate(stop);
      if (!at) break;
      seen.push(at);
    }
    assert.ok(seen.length > 20 && seen.length < 150, `${seen.length} stops: a trap?`);
    assert.deepEqual(seen.filter(({ after }) => !after).map(({ name }) => name), [], "against the reading order");
    assert.deepEqual(seen.filter(({ shown }) => !shown).map(({ name }) => name), [], "without a visible focus");
    assert.deepEqual(seen.filter(({ small }) => small).map(({ name, small }) => name + " " + small), [], "smaller than 24 px");
  });
}

/** In the page: the focused element, whether it stands behind the last one, shows its focus and is large enough; null at the end. */
function stop() {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const last = globalThis.lastStop;
  globalThis.lastStop = e;
  // The parts of a date are one element.
  const after = !last || last === e || Boolean(last.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING);
  // What shows the focus may be around or beside the control, as the label of a radio button.
  const ringed = [e, e.nextElementSibling, e.parentElement, e.parentElement?.parentElement].filter(Boolean).some((at) => {
    const style = getComputedStyle(at);
    return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  });
  const box = (e.matches("input[type=radio], input[type=checkbox]") ? e.closest("label") ?? e : e).getBoundingClientRect();
  const inline = e.matches("a") && getComputedStyle(e).display === "inline";
  return {
    name: `${e.tagName} ${(e.getAttribute("aria-label") ?? e.labels?.[0]?.textContent ?? e.textContent).trim().slice(0, 40)}`,
    after, shown: ringed,
    small: !inline && (box.width < 24 || box.height < 24) ? `${box.width} x ${box.height}` : "",
  };
}

/** What has the focus, by its name. */
function focused(visit) {
  return visit.page.evaluate(() => {
    const e = document.activeElement;
    return (e.getAttribute("aria-label") ?? e.labels?.[0]?.textContent ?? e.textContent ?? "").trim();
  });
}

async function tabTo(visit, name, most = 60, key = "Tab") {
  const passed = [];
  for (let i = 0; i < most; i++) {
    const now = await focused(visit);
    if (i > 0 && now.startsWith(name)) return;
    passed.push(now.slice(0, 20));
    await visit.page.keyboard.press(key);
  }
  throw new Error(`${key} never led to ${name}: ${passed.join(" | ")}`);
}

const tabBack = (visit, name, most) => tabTo(visit, name, most, "Shift+Tab");

/** From the tabs into the table's cells. */
async function intoGrid(visit) {
  for (let i = 0; i < 12; i++) {
    await visit.page.keyboard.press("Tab");
    if (await visit.page.evaluate(() => Boolean(document.activeElement.closest("[role=grid]")))) return;
  }
  throw new Error("Tab does not lead into the table");
}
