// A page at two widths and in both themes: accessible, nothing sideways, nothing cut off; with pictures where
// they are kept.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { axe, cut, sideways } from "./axe.mjs";

export async function look(t, visit, name) {
  const found = [], keep = t.config.screenshots;
  if (keep) mkdirSync(keep, { recursive: true });
  for (const [width, height] of [[1440, 900], [360, 740]]) {
    await visit.page.setViewportSize({ width, height });
    for (const colorScheme of ["light", "dark"]) {
      await visit.page.emulateMedia({ colorScheme });
      await visit.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      if (keep) await visit.page.screenshot({ path: join(keep, `${name}-${width}-${colorScheme}.png`.replaceAll(" ", "-")), fullPage: true });
      for (const line of await axe(visit.page)) found.push(`${width} ${colorScheme}: ${line}`);
    }
    for (const check of [sideways, cut]) for (const line of await check(visit.page)) found.push(`${width}: ${line}`);
  }
  assert.deepEqual([...new Set(found)], []);
}
