// U12: axe-core finds nothing in any state, in both themes, wide and narrow, nor in forced
// colours; at 320 px nothing scrolls sideways, and text of twice the size is not cut off.
import assert from "node:assert/strict";
import { axe, cut, sideways } from "../lib/axe.mjs";
import { states } from "../lib/states.mjs";

export default async function accessibility(t) {
  for await (const { name, visit } of states(t)) {
    visit.kept = true;
    await t.test(name, async () => {
      const found = [];
      const look = async (how, check) => found.push(...(await check(visit.page)).map((line) => `${how}: ${line}`));
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
      await visit.page.setViewportSize({ width: 1280, height: 900 });
      await visit.page.emulateMedia({ forcedColors: "active" });
      await look("forced colours", axe);
      await visit.page.emulateMedia({ forcedColors: "none" });
      await visit.page.evaluate(() => (document.documentElement.style.fontSize = "200%"));
      await look("200 % text", sideways);
      await look("200 % text", cut);
      assert.deepEqual([...new Set(found)], []);
    });
  }
}

/** Narrow, the form is behind a button: opened, it is looked at together with the rest. */
async function unfold(visit) {
  const button = visit.button("New run", { exact: true });
  if (await visit.page.getByRole("dialog").count()) return;
  if ((await button.isVisible()) && (await button.getAttribute("aria-expanded")) === "false") await button.click();
}
