// U6: a paper run through stop dialog and stopping phase. This service offers no paper run
// yet; what can be tested without one is the form, and that the refusal lands in place.
import assert from "node:assert/strict";
import { withLive } from "../lib/venue.mjs";
import { answered } from "../lib/watch.mjs";
import { until } from "../lib/wait.mjs";

export default async function paper(t) {
  const service = await t.service({ names: ["sma_cross"] });

  await t.test("modes that nobody offers are disabled with the reason", async () => {
    const visit = await t.visit(service.url);
    for (const name of ["Paper", "Live"]) {
      const mode = visit.form.getByRole("radio", { name });
      assert.equal(await mode.isDisabled(), true, name);
      const why = await mode.evaluate((e) => document.getElementById(e.getAttribute("aria-describedby"))?.textContent ?? "");
      assert.match(why, /exchange/i, name);
    }
  });

  await t.test("a paper run asks for no credentials, and the service's refusal lands in place", async () => {
    const front = await t.proxy(service.url, { json: withLive() });
    const visit = await t.visit(front.url, { allow: [answered(400)] });
    await visit.stream("live");
    await visit.form.getByRole("radio", { name: "Paper" }).check();
    await visit.form.getByText(/credentials are not needed/).waitFor();
    assert.equal(await visit.form.locator("input[type=password]").count(), 0);
    assert.equal(await visit.field("To confirm").count(), 0);
    await visit.startButton.click();
    await until(async () => (await visit.form.getByRole("alert").innerText()).includes("MODE_NOT_SUPPORTED"), "the refusal");
    assert.equal((await service.status()).status, "idle");
    const [post] = visit.watch.requests.filter(({ line }) => line === "POST /api/v1/run/live");
    const body = post.request.postDataJSON();
    assert.deepEqual([body.mode, body.exchange_config ?? {}], ["paper", {}]);
  });

  t.skip("candles, fills and positions move; the stop dialog; the stopping phase", "the service has no paper runs yet");
}
