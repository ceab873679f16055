// U22: the board of candidates before a real control plane: not configured, empty, a candidate with its gates,
// commands and signatures, the page of its run, and what is shown while the plane is away.
import assert from "node:assert/strict";
import { look } from "../lib/look.mjs";
import { candidate } from "../lib/plane.mjs";
import { folder } from "../lib/service.mjs";
import { answered } from "../lib/watch.mjs";
import { until } from "../lib/wait.mjs";

export default async function governance(t) {
  const board = (service) => t.visit(service.url, { path: "/ui/governance", allow: [answered(503), answered(404)] });
  const state = folder(t.config, "state");

  await t.test("without a control plane the page says how to name one", async () => {
    const alone = await t.service({ names: [] });
    const visit = await board(alone);
    await visit.page.locator("[data-state=unconfigured]").getByText("--control-url").waitFor();
    await visit.page.getByText("No candidate is packed yet").waitFor();
    await look(t, visit, "governance unconfigured");
  });

  const plane = await t.plane(state);
  const service = await t.service({ names: ["sma_cross"], state, args: plane.options });

  await t.test("without a candidate the board is empty, and says so", async () => {
    const visit = await board(service);
    await visit.page.locator("[data-state=reachable]").waitFor();
    await visit.page.getByText("No candidate is packed yet").waitFor();
    await look(t, visit, "governance empty");
  });

  const { revision, run } = await candidate(t, service, plane);
  const subject = "/candidate_revision/" + revision;

  await t.test("a candidate lies in its stage, with what the plane says of it", async () => {
    const [real, plan, missing] = await Promise.all([plane.get("/promotion-state" + subject), plane.get(`/promotion-plans${subject}/paper`), plane.get(`/pending-experiments${subject}/paper`)]);
    assert.equal(real.stage, "research");
    const visit = await board(service);
    const card = visit.page.getByRole("region", { name: "Research", exact: true }).getByRole("article", { name: "sma-cross.btc-usdt-1d" });
    await card.waitFor();
    assert.equal(await card.getAttribute("data-revision"), revision);
    const marks = card.locator("[data-verdict]");
    await until(async () => (await marks.count()) === plan.gates.length, "a square for each gate");
    assert.deepEqual(await marks.evaluateAll((all) => all.map((e) => e.dataset.verdict)), plan.gates.map((g) => g.verdict));
    await card.getByText(/^Entry \d+ of governance.local, in its tree of/).waitFor();
    const open = card.locator("summary", { hasText: `Missing: ${missing.count}` });
    await open.focus();
    await visit.page.keyboard.press("Enter");
    const commands = (await card.locator(".missing code").allInnerTexts()).map((s) => s.trim());
    assert.deepEqual(commands, missing.experiments.flatMap((e) => [...new Set([e.see_with, e.command, e.then])].filter(Boolean)));
    await card.getByText(missing.experiments[0].sentence).first().waitFor();
    await card.locator("summary", { hasText: "Signatures" }).click();
    await card.getByText("Nobody: this stage is entered without approvals.").waitFor();
    assert.ok((await card.ariaSnapshot()).includes(plan.gates[0].gate_id + ": "), "a gate is read out");
    await look(t, visit, "governance candidate");
  });

  await t.test("the page of its run has the stage, and leads to the card", async () => {
    const visit = await t.visit(service.url, { path: "/ui/runs/" + run, allow: [answered(409)] });
    const line = visit.page.locator("[data-promotion=research]");
    await line.getByText(/research, pending/).waitFor();
    await line.getByRole("link", { name: "On the board" }).click();
    const card = visit.page.locator(`article[data-revision=${revision}][data-wanted]`);
    await card.waitFor();
    assert.ok(visit.page.url().endsWith("/ui/governance#candidate=" + revision));
    await visit.page.goBack();
    await line.waitFor();
  });

  await t.test("a service without its bundle shows what the plane has of its strategies", async () => {
    const other = await t.service({ names: ["sma_cross"], args: plane.options });
    assert.equal((await other.get("/candidates")).total, 0);
    const visit = await board(other), card = visit.page.getByRole("region", { name: "Research", exact: true }).getByRole("article", { name: "sma-cross.btc-usdt-1d" });
    await card.getByText("Packed elsewhere").waitFor();
    assert.equal(await card.getAttribute("data-revision"), revision);
    await card.locator("[data-verdict]").first().waitFor();
    await look(t, visit, "governance elsewhere");
  });

  await t.test("while the plane is away its last answer stays, with its age", async () => {
    await plane.end();
    const visit = await board(service);
    await visit.page.locator("[data-state=unreachable]").getByText("The control plane does not answer").waitFor();
    const card = visit.page.getByRole("region", { name: "Research", exact: true }).getByRole("article");
    await card.getByText(/^As of .* ago\.$/).waitFor();
    await card.locator("[data-verdict]").first().waitFor();
    await look(t, visit, "governance unreachable");
  });
}
