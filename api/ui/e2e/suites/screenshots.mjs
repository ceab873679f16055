// U16: pictures of the states of the page for people to look at; nothing compares them.
import assert from "node:assert/strict";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { folder } from "../lib/service.mjs";
import { states } from "../lib/states.mjs";

const few = ["idle", "completed", "failed"];

export default async function screenshots(t) {
  const all = Boolean(t.config.screenshots);
  const dir = t.config.screenshots || folder(t.config, "screenshots");
  mkdirSync(dir, { recursive: true });
  for await (const { name, visit } of states(t, all ? undefined : few)) {
    visit.kept = true;
    await t.test(name, async () => {
      for (const [width, height] of [[1440, 900], [360, 800]]) {
        await visit.page.setViewportSize({ width, height });
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
