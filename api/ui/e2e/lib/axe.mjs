// WCAG 2.2 A and AA as far as a program can tell, and what axe-core does not look at:
// scrolling sideways and text that is cut off.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8") + "\n;0";
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"];

/** Every violation of the page, or of a part of it, as one line. */
export async function axe(page, part) {
  if (!(await page.evaluate(() => Boolean(globalThis.axe)))) await page.evaluate(source);
  await page.evaluate(painted);
  return page.evaluate(async ([tags, part]) => {
    const { violations } = await globalThis.axe.run(part ?? document, { runOnly: { type: "tag", values: tags }, resultTypes: ["violations"] });
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id} ${node.target.join(" ")}: ${node.failureSummary.replace(/\s+/g, " ")} ${node.html.slice(0, 160)}`));
  }, [tags, part]);
}

/** Another theme or forced colours reach the page over a few frames: returns when no colour has changed for six of them. */
async function painted() {
  const colours = () => [...document.querySelectorAll("body, h1, h2, p, button, td, label")].map((e) => {
    const { color, backgroundColor } = getComputedStyle(e);
    return color + backgroundColor;
  }).join();
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  for (let last = "", same = 0, frames = 0; same < 6 && frames < 300; frames++) {
    await frame();
    const now = colours();
    same = now === last ? same + 1 : 0;
    last = now;
  }
}

/** What makes the page scroll sideways: elements that stick out and that nothing around them scrolls or clips. */
export function sideways(page) {
  return page.evaluate(() => {
    const root = document.documentElement;
    if (root.scrollWidth <= root.clientWidth) return [];
    const clips = (e) => e && e !== document.body && e !== root && (getComputedStyle(e).overflowX !== "visible" || clips(e.parentElement));
    const out = [...document.body.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !clips(e.parentElement));
    return [`the page is ${root.scrollWidth} px wide in ${root.clientWidth}`, ...out.slice(0, 5).map((e) => e.outerHTML.slice(0, 120))];
  });
}

/** Controls whose words do not fit: what cannot be read by scrolling either. */
export function cut(page) {
  return page.evaluate(() => {
    const visible = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length > 0;
    const short = (e) => e.scrollHeight > e.clientHeight + 2 || e.scrollWidth > e.clientWidth + 2;
    const hides = (e) => ["hidden", "clip"].includes(getComputedStyle(e).overflowX) || ["hidden", "clip"].includes(getComputedStyle(e).overflowY);
    return [...document.querySelectorAll("button, label, legend, h1, h2, h3, [role=tab], [role=alert], [data-tile]")]
      .filter((e) => visible(e) && short(e) && hides(e) && !e.title && !e.classList.contains("unseen"))
      .map((e) => `cut off: ${e.outerHTML.slice(0, 120)}`);
  });
}
