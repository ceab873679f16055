// One person at the dashboard: a browser context with one page, and what a person can
// do and read there. Everything is found by role and label, as a screen reader finds it.
import assert from "node:assert/strict";
import { patience, until } from "./wait.mjs";
import { Watch } from "./watch.mjs";

export class Visit {
  /** Whether the page stays open for the next test. */
  kept = false;

  static async open(browser, url, { path = "/ui", allow = [], also = [], storage = {}, before, ...options } = {}) {
    const visit = new Visit();
    visit.origin = new URL(url).origin;
    visit.watch = new Watch(visit.origin);
    visit.watch.allow(...allow);
    visit.watch.also(...also);
    visit.context = await browser.newContext({
      viewport: { width: 1440, height: 900 }, colorScheme: "light", reducedMotion: "reduce", permissions: ["clipboard-read", "clipboard-write"], ...options,
    });
    visit.context.setDefaultTimeout(patience);
    await visit.watch.attach(visit.context);
    await visit.context.addInitScript((values) => {
      for (const [key, value] of Object.entries(values)) if (localStorage.getItem(key) === null) localStorage.setItem(key, value);
    }, storage);
    visit.page = await visit.context.newPage();
    await before?.(visit);
    await visit.page.goto(visit.origin + path);
    if (path === "/ui") await visit.page.getByRole("heading", { name: "Assay", level: 1 }).waitFor();
    return visit;
  }

  close() {
    return this.context.close();
  }

  button(name, options = {}) {
    return this.page.getByRole("button", { name, ...options });
  }

  get form() {
    return this.page.getByRole("form", { name: "New run" });
  }

  /** A control by how its label begins: a unit may stand behind. */
  field(name) {
    return this.form.getByLabel(new RegExp(`^${name}`));
  }

  get startButton() {
    return this.form.getByRole("button", { name: /^(Start|Replace and start|Start live|Replace and start live)$/ });
  }

  /** Waits for the words of the header: idle, running · backtest… */
  async says(status, timeout = patience) {
    await this.page.getByRole("banner").getByText(new RegExp(`^${status}( ·|$)`)).waitFor({ timeout });
  }

  /** Waits for the words of the chip: connected, polling… */
  async stream(state, timeout = patience) {
    await this.page.getByRole("banner").getByText(state, { exact: true }).waitFor({ timeout });
  }

  /** A bar below the header: reconnecting, polling, down, notice, partial, warnings. */
  bar(kind) {
    return this.page.locator(`[data-banner=${kind}]`);
  }

  /** Fills what is given: a text for a field, a strategy by its name. */
  async fill({ strategy, ...fields }) {
    if (strategy) await this.form.getByRole("combobox", { name: "Strategy" }).selectOption(strategy);
    for (const [label, text] of Object.entries(fields)) await this.field(label).fill(String(text));
  }

  /** The tiles: {name: {label, value, text, note}}; value is what the page calls exact. */
  tiles() {
    return this.page.getByRole("region", { name: "Key numbers" }).evaluate((region) => Object.fromEntries([...region.querySelectorAll("[data-tile]")].map((tile) => {
      const [text, note] = [...tile.querySelectorAll("dd")].map((e) => e.textContent);
      return [tile.dataset.tile, { label: tile.querySelector("dt").textContent, value: tile.dataset.value, text, note: note ?? "" }];
    })));
  }

  get chart() {
    return this.page.getByRole("group", { name: /^Chart/ });
  }

  /** What the chart says that it draws: numbers by name. */
  async drawn() {
    const data = await this.chart.evaluate((group) => ({ ...group.dataset }));
    return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, text !== "" && Number.isFinite(Number(text)) ? Number(text) : text]));
  }

  tab(name) {
    return this.page.getByRole("tab", { name: new RegExp(`^${name}`) });
  }

  /** Opens a tab and returns its panel. */
  async open(name) {
    await this.tab(name).click();
    const panel = this.page.getByRole("tabpanel", { name: new RegExp(`^${name}`) });
    // The metrics come with a script of their own.
    if (name === "Metrics") await panel.getByText("Loading…", { exact: true }).waitFor({ state: "detached" });
    return panel;
  }

  /** The rows of the open table that are in the DOM, as lists of words. */
  rows(title) {
    return this.page.getByRole("grid", { name: title }).evaluate((grid) => [...grid.querySelectorAll("[role=row][data-row]")]
      .sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map((row) => [...row.children].map((cell) => cell.textContent)));
  }

  /** Waits until the page has the results of the ended run, not only its status. */
  async has(results, { candles = true } = {}) {
    await this.says(results.status);
    // A status is rounded to 10 decimals; the result of a live run has all that the venue's fees have.
    await until(async () => equals((await this.tiles()).value.value, results.final_value), "the tiles of " + results.run_id);
    if (candles) await until(async () => (await this.drawn()).fills === results.rows_total.fills, "the fills on the chart");
  }

  /** Holds the tiles against GET /results, which the page asks for when the run has ended; without a stream there are no candles to wait for. */
  async agrees(results, options) {
    await this.has(results, options);
    await until(async () => {
      checkTiles(await this.tiles(), results);
      return true;
    }, "the tiles to equal /results");
  }
}

function checkTiles(tiles, { final_value: value, initial_cash: cash, performance_metrics: metrics, performance_metrics_undefined: missing, equity_curve_sampling: { of: steps } }) {
  checkTile(tiles.value, value, 1);
  checkTile(tiles.pnl, Number((value - cash).toPrecision(12)), 1);
  checkTile(tiles.total_trades, metrics.total_trades, 1);
  for (const [name, scale] of [["max_drawdown", 100], ["sharpe_ratio", 1], ["win_rate", 100]]) {
    const few = name === "sharpe_ratio" && (metrics.total_trades < 30 || steps < 250); // as the lab has it
    if (few || missing.includes(name)) checkUndefined(name, tiles[name]);
    else checkTile(tiles[name], metrics[name], scale);
  }
  if (!missing.includes("total_return")) close(number(tiles.pnl.note), metrics.total_return * 100, "return");
}

const equals = (text, want) => text !== "" && Math.abs(Number(text) - want) <= 1e-9 * Math.max(1, Math.abs(want));

function checkTile(tile, want, scale) {
  assert.ok(equals(tile.value, want), `${tile.label}: ${tile.value}, results say ${want}`);
  close(number(tile.text), want * scale, tile.label);
}

function checkUndefined(name, tile) {
  assert.equal(tile.text, "n/a", name);
  assert.equal(tile.value, "", name);
  assert.notEqual(tile.note, "", `${name}: no reason`);
}

function close(got, want, what) {
  assert.ok(Math.abs(got - want) <= 0.005 + 1e-9, `${what}: shown ${got}, results say ${want}`);
}

/** A number as the page writes it: grouped by thin spaces, with a real minus. */
export function number(text) {
  const plain = text.replace(/[\s\u202f%]/g, "").replace("\u2212", "-");
  assert.match(plain, /^[+-]?\d+(\.\d+)?$/, `${JSON.stringify(text)} is no number`);
  return Number(plain);
}
