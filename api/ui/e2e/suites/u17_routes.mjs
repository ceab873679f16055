// ring: test
// U17: one document with many addresses: links, Back, titles, focus, reload.
import assert from "node:assert/strict";
import { answered } from "../lib/watch.mjs";
import { until } from "../lib/wait.mjs";

const pages = { Runs: "/ui/runs", Families: "/ui/families", Data: "/ui/data", Board: "/ui/governance", Live: "/ui/live", Runner: "/ui" };

export default async function routes(t) {
  const service = await t.service({ names: ["sma_cross"] });

  await t.test("links change the page without a load, Back goes back, each address can be reloaded", async () => {
    const visit = await t.visit(service.url, { allow: [answered(404)] });
    await visit.stream("connected");
    await visit.page.evaluate(() => (globalThis.mark = "same document"));
    const nav = visit.page.getByRole("navigation", { name: "Pages" });
    for (const [words, path] of Object.entries(pages)) {
      await nav.getByRole("link", { name: words, exact: true }).click();
      await until(() => visit.page.evaluate((path) => location.pathname === path, path), path);
      assert.equal(await nav.getByRole("link", { name: words, exact: true }).getAttribute("aria-current"), "page");
      assert.equal(await visit.page.getByRole("main").count(), 1);
      assert.match(await visit.page.title(), /Assay$/);
    }
    await visit.page.goBack();
    await visit.page.locator("main[data-page=live]").waitFor();
    await visit.page.goForward();
    await visit.form.waitFor();
    assert.equal(await visit.page.evaluate(() => globalThis.mark), "same document");
    for (const path of Object.values(pages)) {
      await visit.page.goto(service.url + path);
      await visit.page.getByRole("main").waitFor();
      await visit.stream("connected");
    }
  });

  await t.test("what is no address of the table is not found", async () => {
    for (const path of ["/ui/", "/ui/nothing", "/ui/runs/a/b", "/ui/governance/a"]) {
      const answer = await fetch(service.url + path, { redirect: "manual" });
      assert.ok([404, 307].includes(answer.status), `${path}: ${answer.status}`);
    }
  });
}
