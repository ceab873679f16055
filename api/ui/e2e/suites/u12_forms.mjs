// U12, first third: the empty page, the form, dialogs and everything about the connection.
import assert from "node:assert/strict";
import { accessible } from "../lib/accessible.mjs";
import { axe, cut, sideways } from "../lib/axe.mjs";
import { before } from "../lib/states.mjs";

export default async function forms(t) {
  await t.test("the checks see what is wrong", async () => {
    const page = await (await t.browser()).newPage({ viewport: { width: 320, height: 640 } });
    await page.setContent(`<!doctype html><html lang="en"><title>wrong</title><main><h1>Wrong</h1>
      <p style="color: #aaa; background: #fff">pale</p><input><div style="width: 500px">wide</div>
      <button style="width: 30px; overflow: hidden; white-space: nowrap">much too long for it</button></main></html>`);
    const found = (await axe(page)).join("\n");
    for (const rule of [/^color-contrast p/m, /^label input/m]) assert.match(found, rule);
    assert.match((await sideways(page)).join(), /500px/);
    assert.match((await cut(page)).join(), /much too long/);
    await page.close();
  });
  await accessible(t, Object.keys(before));
}
