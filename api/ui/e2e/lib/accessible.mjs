// Holds states of the page to WCAG 2.2 A and AA: both themes, wide and narrow, forced
// colours, text of twice the size.
import assert from "node:assert/strict";
import { axe, cut, sideways } from "./axe.mjs";
import { states, unfold } from "./states.mjs";

/** Each of these states is one finding. */
export async function accessible(t, names) {
  for await (const { name, visit, part } of states(t, names)) {
    visit.kept = true;
    await t.test(name, async () => {
      const found = [];
      const look = async (how, check) => found.push(...(await check(visit.page, part)).map((line) => `${how}: ${line}`));
      await inThemes(visit, look);
      await enlarged(visit, look);
      assert.deepEqual([...new Set(found)], []);
    });
  }
}

async function inThemes(visit, look) {
  for (const [width, height] of [[1440, 900], [320, 640]]) {
    await visit.page.setViewportSize({ width, height });
    await unfold(visit);
    for (const colorScheme of ["light", "dark"]) {
      await visit.page.emulateMedia({ colorScheme });
      await look(`${width} px, ${colorScheme}`, axe);
    }
    await look(`${width} px`, sideways);
    await look(`${width} px`, cut);
  }
}

async function enlarged(visit, look) {
  await visit.page.setViewportSize({ width: 1280, height: 900 });
  await visit.page.emulateMedia({ forcedColors: "active" });
  await look("forced colours", axe);
  await visit.page.emulateMedia({ forcedColors: "none" });
  await visit.page.evaluate(() => (document.documentElement.style.fontSize = "200%"));
  await look("200 % text", sideways);
  await look("200 % text", cut);
}
