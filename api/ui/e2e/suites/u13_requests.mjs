// U13: what the pages ask for. Every visit of every suite is held to the same list; here
// is the proof that the watch sees what it must, and the documentation's own page.
import assert from "node:assert/strict";
import { until } from "../lib/wait.mjs";
import { axe } from "../lib/axe.mjs";
import { answered } from "../lib/watch.mjs";

/** What a session from the empty page to the reset cannot do without. */
const needed = [
  "GET /ui", "GET /ui/app.css", "GET /ui/app.js", "GET /ui/charts.js", "GET /ui/pages.css", "GET /ui/pages.js", "GET /ui/icon.svg", "GET /api/v1/health", "GET /api/v1/strategies", "GET /api/v1/exchanges", "GET /api/v1/results",
  "POST /api/v1/run/backtest", "DELETE /api/v1/run/reset", "WS /api/v1/ws/status",
];

export default async function requests(t) {
  const service = await t.service();

  await t.test("the watch sees a foreign request, a script in the page and an error", async () => {
    const visit = await t.visit(service.url);
    await visit.page.evaluate(() => {
      const image = new Image();
      image.src = "http://foreign.test/pixel.png";
      document.body.append(image);
      const script = document.createElement("script");
      try {
        script.textContent = "1";
      } catch {
        // Trusted types refuse it, which is what is to be seen.
      }
      document.body.append(script);
      console.error("an error");
      setTimeout(() => { throw new Error("a page error"); });
      void fetch("/api/v1/openapi.json");
    });
    // Each comes by a way of its own, in no order.
    for (const seen of [/CSP: img-src/, /CSP: (require-trusted-types-for|script-src)/, /console error: an error/, /page error: Error: a page error/, /not of the list: GET \/api\/v1\/openapi/]) {
      await until(async () => visit.watch.problems().some((line) => seen.test(line)), String(seen));
    }
    visit.watch.allow(/.*/s);
  });

  await t.test("a whole session asks for what is on the list and for nothing else", async () => {
    const visit = await t.visit(service.url);
    await visit.button("Run the sample").click();
    await visit.agrees(await service.reaches("completed").then(service.results));
    for (const name of ["Orders", "Fills", "Positions", "Metrics", "Evidence", "Log", "Trades"]) await visit.open(name);
    for (const name of ["Zoom in", "Zoom in", "Earlier", "Show all"]) await visit.button(name).click();
    await visit.button("Replace and start").click();
    await until(async () => visit.watch.requests.filter(({ line }) => line.startsWith("POST")).length === 2, "the second start");
    await service.reaches("completed");
    await visit.says("completed");
    await visit.form.getByRole("button", { name: "Reset", exact: true }).click();
    await visit.says("idle");
    // A browser with tabs shows the icon in one, the headless shell has none.
    assert.equal(await visit.page.evaluate(async () => (await fetch(document.querySelector("link[rel=icon]").href)).status), 200);
    const lines = new Set(visit.watch.requests.map(({ line }) => line.replace(/-[0-9a-f]{10}/, "")));
    assert.deepEqual([...lines].filter((line) => !needed.includes(line) && line !== "GET /api/v1/status"), [], "more than is needed");
    assert.deepEqual(needed.filter((line) => !lines.has(line)), [], "not seen");
    assert.deepEqual(visit.watch.console, []);
  });

  await t.test("the documentation asks for nothing but its own files and the request that is tried", async () => {
    const visit = await t.visit(service.url, { path: "/docs", also: [/^GET \/docs(\/(style\.css|init\.js))?$/] });
    await visit.page.getByText("Try GET /api/v1/status", { exact: true }).click();
    const answer = visit.page.waitForResponse(/\/api\/v1\/status$/);
    await visit.page.getByRole("button", { name: "Send GET /api/v1/status", exact: true }).click();
    assert.equal((await answer).status(), 200);
    await visit.page.getByRole("region", { name: "Answer of GET /api/v1/status", exact: true }).getByText('"status": ').waitFor();
    const lines = visit.watch.requests.map(({ line }) => line);
    assert.deepEqual([...new Set(lines)].sort(), ["GET /api/v1/status", "GET /docs", "GET /docs/init.js", "GET /docs/style.css"]);
    assert.deepEqual(visit.watch.console, []);
    for (const colorScheme of ["light", "dark"]) {
      await visit.page.emulateMedia({ colorScheme });
      assert.deepEqual(await axe(visit.page, "main"), [], colorScheme);
    }
    assert.ok((await visit.page.getByRole("link", { name: "Assay", exact: true }).getAttribute("href")) === "/ui", "a way back");
  });

  for (const path of ["errors", "events", "deprecations", "licenses"]) {
    await t.test(`/docs/${path} asks for nothing but its own files`, async () => {
      const visit = await t.visit(service.url, { path: "/docs/" + path, also: [/^GET \/docs\/(style\.css|errors|events|deprecations|licenses)$/] });
      assert.equal(visit.watch.console.length, 0);
    });
  }

  await t.test("the licences of the dashboard", async () => {
    const visit = await t.visit(service.url, { path: "/ui/licenses", also: [/^GET \/ui\/licenses-[0-9a-f]{10}\.css$/] });
    for (const name of [/preact/i, /lightweight.charts/i, /fancy-canvas/i, /TradingView/]) await visit.page.getByText(name).first().waitFor();
  });

  await t.test("an asset that does not exist is a 404 with the plain body", async () => {
    const visit = await t.visit(service.url, { also: [/^GET \/ui\/app-0123456789\.js$/], allow: [answered(404)] });
    const [status, body] = await visit.page.evaluate(async () => {
      const answer = await fetch("/ui/app-0123456789.js");
      return [answer.status, await answer.json()];
    });
    assert.equal(status, 404);
    assert.deepEqual(body, { error: "There is nothing at this path.", status_code: 404, path: "/ui/app-0123456789.js" });
  });
}
