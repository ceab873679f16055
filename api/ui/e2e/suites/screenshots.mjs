// U16: pictures of the states of the page for people to look at; nothing compares them. Those of the
// README have the page's words beside them, which have to be what the page says today.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder } from "../lib/service.mjs";
import { states, unfold } from "../lib/states.mjs";
import { until } from "../lib/wait.mjs";

const few = ["idle", "completed", "failed"];

const pages = ({ page }) => page.getByRole("navigation", { name: "Pages" });

/** The pictures of the README: what runs, how it ends, in which colours it is shown, and the parts whose words are
 *  the same each time: a process that dies was ahead of the candles by more or less. */
const readme = {
  "dashboard-dark": { strategy: "sma_cross", ends: "completed", colorScheme: "dark", parts: (visit) => [pages(visit), visit.page.getByRole("main")] },
  "dashboard-failed": { strategy: "exits", ends: "failed", colorScheme: "light", parts: (visit) => [pages(visit), visit.form, visit.page.getByRole("heading", { name: /PLUGIN_CRASHED/ }).locator("xpath=following-sibling::p[2]")] },
  "live-paper": { strategy: "buy_hold", path: "/ui/live", colorScheme: "light", parts: (visit) => [pages(visit), visit.page.locator(".mode-word"), visit.page.locator(".cockpit-acts"), visit.page.locator(".gauges li > span:first-child").first()] },
};

export default async function screenshots(t) {
  const all = Boolean(t.config.screenshots);
  const dir = t.config.screenshots || folder(t.config, "screenshots");
  mkdirSync(dir, { recursive: true });
  await pictures(t, all);
  for await (const { name, visit } of states(t, all ? undefined : few)) {
    visit.kept = true;
    await t.test(name, async () => {
      for (const [width, height] of [[1440, 900], [360, 800]]) {
        await visit.page.setViewportSize({ width, height });
        if (/form|field|unavailable|client/.test(name)) await unfold(visit); // what the picture is of
        for (const colorScheme of ["light", "dark"]) {
          await visit.page.emulateMedia({ colorScheme });
          await visit.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
          const path = join(dir, `${name.replace(/\W+/g, "-")}-${width}-${colorScheme}.png`);
          await visit.page.screenshot({ path, fullPage: width < 900 });
          assert.ok(statSync(path).size > 5000, path);
        }
      }
    });
  }
}

/** Takes the pictures of the README, or holds the words of those that are there against the page. */
async function pictures(t, take) {
  const names = [...t.config.strategies, "exits"];
  const service = await t.service({ names });
  for (const [name, { strategy, path: page = "/ui", ends, colorScheme, parts }] of Object.entries(readme)) {
    await t.test(`${name}.png shows the page of today`, async () => {
      await service.clear();
      if (ends) {
        await service.backtest(strategy);
        await service.reaches(ends);
      } else await service.paper(strategy, { config: { candles_per_second: 20 } });
      const visit = await t.visit(service.url, { path: page });
      await visit.page.emulateMedia({ colorScheme });
      await visit.says(ends ?? "running");
      await visit.stream("connected");
      await visit.page.getByText(ends ? /: last price/ : /^long .* worth /).waitFor();
      if (ends === "completed") await until(async () => (await visit.rows("Trades")).length > 3 && (await visit.drawn()).fills > 4, "trades and fills");
      const words = (await Promise.all(parts(visit).map((part) => part.innerText()))).join("\n")
        .replace(/svc_\w+…?/g, "svc_…").replace(/took [\d.]+ m?s/, "took … s").replace(/\s*trial \d+ of \d+ on these candles/, "").replace(/[^\S\n]+/g, " ").replace(/\n{2,}/g, "\n") + "\n";
      const path = join(t.config.images, name);
      if (!take) return assert.equal(words, readFileSync(path + ".txt", "utf8"), "make screenshots takes the picture again");
      await visit.page.screenshot({ path: path + ".png" });
      writeFileSync(path + ".txt", words);
    });
  }
}
