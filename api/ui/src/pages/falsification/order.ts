// The order of the tests, and what they say together.
import type { Falsification, Test } from "../shapes.ts";

const order = ["fail", "error", "warn", "inconclusive", "skipped", "pass"];
const rank = (t: Test) => (order.includes(t.verdict) ? order.indexOf(t.verdict) : order.length);

export const failuresFirst = (tests: readonly Test[]): Test[] => [...tests].sort((a, b) => rank(a) - rank(b));

/** What a test says, as one sentence. */
export function sentenceOf(t: Test): string {
  const claim = t.claim || t.id.replaceAll("_", " ");
  return (t.verdict === "pass" ? `Not refuted: that ${claim}` : `Not shown: that ${claim}${t.detail ? `, because ${t.detail}` : ""}`).replace(/\.?$/, ".");
}

/** One sentence: it does not survive, because …; or what that it stands does not show. */
export function conclusion({ tests }: Pick<Falsification, "tests">): string {
  const failed = failuresFirst(tests).filter((t) => t.verdict === "fail"), passed = tests.filter((t) => t.verdict === "pass");
  const because = (t: Test) => (t.detail || sentenceOf(t)).replace(/[.\s]+$/, "");
  if (failed.length > 0) return `This idea does not survive, because: ${failed.map(because).join("; ")}.`;
  const open = tests.length - passed.length;
  if (passed.length === 0) return "Nothing was shown: no test came to a verdict.";
  return `It was not refuted by ${passed.length} test${passed.length === 1 ? "" : "s"}${open > 0 ? `; ${open} came to no clear verdict` : ""}. That is no proof that it earns money.`;
}
