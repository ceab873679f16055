// Every state that the page can be in, one after the other: each is reached as a person
// would get there, looked at by the caller, and left again.
import { answered, broken } from "./watch.mjs";
import { alarming, withLive, withRisk } from "./venue.mjs";
import { until } from "./wait.mjs";

const noise = [broken, answered(409), answered(400), answered(502)];

/** Yields {name, visit, part} for these states, for all of them by default; part is what
 *  differs from the state before, where it is not the whole page. */
export async function* states(t, names = [...Object.keys(before), ...Object.keys(during)]) {
  const service = await t.service({ names: ["sma_cross", "breakout", "widgets", "sleeper", "exits"], scripts: { broken: "#!/bin/sh\nexit 7\n" } });
  for (const name of names) {
    await service.clear();
    const stage = { t, service, endings: [] };
    const visit = await (before[name] ?? during[name])(stage);
    yield { name, visit };
    // What the completed run has behind its tabs needs no page of its own.
    for (const [tab, title] of name === "completed" ? Object.entries(behind) : []) {
      await back(visit);
      await show(visit, title);
      yield { name: tab, visit, part: title === "Trades" ? "[role=group][aria-label^=Chart]" : "[role=tabpanel]" };
    }
    await t.leave(visit);
    for (const end of stage.endings) await end();
  }
}

const behind = { orders: "Orders", fills: "Fills", positions: "Positions", metrics: "Metrics", evidence: "Evidence", "chart as a table": "Trades" };

/** As the page was opened, whatever the caller did to it. */
async function back(visit) {
  await visit.page.setViewportSize({ width: 1440, height: 900 });
  await visit.page.emulateMedia({ forcedColors: "none", colorScheme: "light" });
  await visit.page.evaluate(() => (document.documentElement.style.fontSize = ""));
}

async function show(visit, title) {
  await visit.open(title);
  if (["Orders", "Fills"].includes(title)) await until(async () => (await visit.rows(title)).length > 3, title);
  if (title !== "Trades") return;
  await visit.page.getByText("Data as a table").click();
  await visit.page.getByRole("region", { name: "Data of the chart" }).waitFor();
}

/** Narrow, the form is behind a button: opened, it is looked at together with the rest. */
export async function unfold(visit) {
  const button = visit.button("New run", { exact: true });
  if (await visit.page.getByRole("dialog").count()) return;
  if ((await button.isVisible()) && (await button.getAttribute("aria-expanded")) === "false") await button.evaluate((e) => e.click()); // a popover may lie over it
}

const open = async (stage, url = stage.service.url, options = {}) => {
  const visit = await stage.t.visit(url, { allow: noise, ...options });
  await visit.page.getByRole("banner").waitFor();
  return visit;
};

const sleeping = (service, sleep_ms = 5) => service.backtest("sleeper", { strategy_params: { sleep_ms } });

/** A paper run that has traded. */
async function trading(service) {
  await service.paper("sleeper", { strategy_params: { sleep_ms: 0 }, config: { candles_per_second: 40 } });
  await until(async () => (await service.status()).trade_count > 2, "some trades");
}

/** Nothing runs yet, or something stands in the way. */
export const before = {
  async idle(stage) {
    const visit = await open(stage);
    await visit.stream("connected");
    return visit;
  },

  async "no strategies"(stage) {
    const bare = await stage.t.service({ names: [] });
    stage.endings.push(() => bare.end());
    const visit = await open(stage, bare.url);
    await visit.page.getByRole("heading", { name: /No strategy/ }).waitFor();
    return visit;
  },

  async "strategy unavailable"(stage) {
    const visit = await open(stage);
    await visit.form.getByText("1 unavailable").click();
    await visit.button(/^plugins/).click();
    return visit;
  },

  async "every kind of field"(stage) {
    const visit = await open(stage);
    await visit.stream("connected");
    await visit.fill({ strategy: "widgets" });
    for (const name of ["Advanced", "Execution"]) await visit.form.getByText(name, { exact: true }).click();
    return visit;
  },

  async "errors in the form"(stage) {
    const visit = await open(stage);
    await visit.stream("connected");
    await visit.fill({ strategy: "widgets", "Fast length": "0", Rules: "{broken", From: "yesterday", Cash: "-1" });
    await visit.startButton.press("Enter");
    await visit.form.getByRole("alert").waitFor();
    return visit;
  },

  async "paper form"(stage) {
    const visit = await open(stage);
    await visit.stream("connected");
    await visit.form.getByRole("radio", { name: "Paper" }).check();
    await visit.form.getByRole("combobox", { name: "Exchange" }).selectOption("sim");
    await visit.form.getByText("Exchange settings").click();
    await visit.fill({ "Candles per second": "1000" });
    await visit.startButton.press("Enter");
    await visit.form.getByRole("alert").waitFor();
    return visit;
  },

  async "live form"(stage) {
    const front = await stage.t.proxy(stage.service.url, { json: withLive(), frame: withRisk });
    const visit = await open(stage, front.url);
    await visit.stream("connected");
    await visit.form.getByRole("radio", { name: "Live" }).check();
    await visit.form.getByRole("combobox", { name: "Exchange" }).selectOption("sample");
    await visit.field("API key").fill("short");
    await visit.startButton.press("Enter");
    await visit.form.getByRole("alert").waitFor();
    return visit;
  },

  async "another client's run"(stage) {
    const front = await stage.t.proxy(stage.service.url, { hold: false });
    const visit = await open(stage, front.url);
    await visit.stream("connected");
    await visit.fill({ strategy: "sma_cross" });
    front.rules.hold = true;
    await sleeping(stage.service);
    await visit.startButton.click();
    await visit.form.getByText(/already active/).waitFor();
    return visit;
  },

  async help(stage) {
    const visit = await open(stage);
    await visit.button("Help").click();
    await visit.page.getByRole("dialog", { name: "Help" }).waitFor();
    return visit;
  },

  async "server restarted"(stage) {
    const other = await stage.t.service({ names: ["sma_cross"] });
    stage.endings.push(() => other.end());
    const visit = await open(stage, other.url);
    await visit.stream("connected");
    await other.end();
    await other.begin();
    await visit.bar("notice").getByText("The service restarted.").waitFor();
    await visit.stream("connected");
    return visit;
  },
};

/** A run on its way or at its end. */
export const during = {
  async running(stage) {
    await sleeping(stage.service);
    const visit = await open(stage);
    await visit.says("running");
    await until(async () => (await visit.drawn()).fills > 4, "fills on the chart");
    return visit;
  },

  async stopping(stage) {
    await sleeping(stage.service);
    const visit = await open(stage);
    await visit.says("running");
    await visit.context.route(/\/run\/stop$/, () => {}); // the answer never comes
    await visit.button("Stop").click();
    await visit.button(/^Stopping…/).waitFor();
    return visit;
  },

  async completed(stage) {
    await stage.service.backtest("breakout");
    const visit = await open(stage);
    await visit.says("completed");
    await visit.has(await stage.service.results());
    await until(async () => (await visit.rows("Trades")).length > 3, "the trades");
    return visit;
  },

  async "partial, with its log"(stage) {
    await sleeping(stage.service);
    await until(async () => (await stage.service.status()).trade_count > 5, "some trades");
    await stage.service.call("POST", "/run/stop");
    const visit = await open(stage);
    await visit.bar("partial").waitFor();
    await visit.open("Log");
    return visit;
  },

  async failed(stage) {
    await stage.service.backtest("exits");
    const visit = await open(stage);
    await visit.says("failed");
    await visit.page.getByRole("heading", { name: /PLUGIN_CRASHED/ }).waitFor();
    return visit;
  },

  async "paper run"(stage) {
    await trading(stage.service);
    const front = await stage.t.proxy(stage.service.url, { frame: alarming() });
    const visit = await open(stage, front.url);
    await visit.says("running");
    await visit.bar("warnings").waitFor();
    await until(async () => (await visit.drawn()).fills > 4, "fills on the chart");
    return visit;
  },

  /** On the simulated market; it loses more in a day than the limit allows. */
  async "live cockpit"(stage) {
    await stage.service.paper("sma_cross", { mode: "live", strategy_params: { fast: 3, slow: 8 }, config: { candles_per_second: 25 } });
    const visit = await open(stage, stage.service.url, { path: "/ui/live" });
    await visit.says("running · live");
    await visit.page.getByText("DAILY_LOSS_EXCEEDED").first().waitFor();
    return visit;
  },

  async interrupted(stage) {
    await trading(stage.service);
    await stage.service.end("SIGKILL");
    await stage.service.begin();
    const visit = await open(stage);
    await visit.says("failed");
    await visit.page.getByRole("heading", { name: /RUN_INTERRUPTED/ }).waitFor();
    await visit.page.getByText("The service has no candles of this run").waitFor();
    return visit;
  },

  async "reset of an interrupted run"(stage) {
    const visit = await during.interrupted(stage);
    await visit.form.getByRole("button", { name: "Reset", exact: true }).click();
    await visit.page.getByRole("dialog").waitFor();
    return visit;
  },

  async "stop dialog"(stage) {
    await trading(stage.service);
    const visit = await open(stage);
    await visit.says("running");
    await visit.button("Stop").click();
    await visit.page.getByRole("dialog").getByText(/^long /).waitFor();
    return visit;
  },

  async reconnecting(stage) {
    await stage.service.backtest("sma_cross");
    const front = await stage.t.proxy(stage.service.url, {});
    const visit = await open(stage, front.url);
    await visit.says("completed");
    await visit.stream("connected");
    front.rules.stream = "hang";
    front.cut();
    await visit.bar("reconnecting").waitFor();
    return visit;
  },

  async polling(stage) {
    await stage.service.backtest("sma_cross");
    const front = await stage.t.proxy(stage.service.url, { stream: "refuse" });
    const visit = await open(stage, front.url);
    await visit.bar("polling").waitFor();
    await visit.says("completed");
    return visit;
  },

  async "server down"(stage) {
    const front = await stage.t.proxy(stage.service.url, {});
    await stage.service.backtest("sma_cross");
    const visit = await open(stage, front.url);
    await visit.says("completed");
    await visit.has(await stage.service.results());
    front.rules.dead = true;
    front.cut();
    await visit.bar("down").waitFor();
    await visit.page.locator("main[data-stale]").waitFor();
    return visit;
  },
};
