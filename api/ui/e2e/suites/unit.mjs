// ring: test
// The unit tests of the pure modules, in the browser that they are for.
import { readFileSync } from "node:fs";

export default async function unit(t) {
  const page = await (await t.browser()).newPage();
  await page.evaluate(readFileSync(t.config.unit, "utf8") + "\n;0");
  const outcomes = await page.evaluate(() => globalThis.unitTests());
  for (const { name, ok, detail } of outcomes) t.report(name, ok, detail);
  t.report("there are tests", outcomes.length > 0);
}
