// The order of the tests, and what they say together: the same as the lab says.
import type { Falsification, Test } from "../shapes.ts";

const order = ["fail", "error", "warn", "inconclusive", "pass", "skipped", "informs"];
const rank = (t: Test) => (order.includes(shownOf(t)) ? order.indexOf(shownOf(t)) : order.length);

/** The verdict as a reader should take it: only a gate refutes, a failed test of class W warns, one of class D describes. */
export function shownOf({ class: of, verdict }: { class?: string; verdict: string }): string {
  if (of === "D" && verdict !== "skipped") return "informs";
  return of === "W" && verdict === "fail" ? "warn" : verdict;
}

export const failuresFirst = (tests: readonly Test[]): Test[] => [...tests].sort((a, b) => rank(a) - rank(b));

/** What the whole battery has come to, in words that need no battery. */
export const overallWords: Record<string, string> = {
  fail: "This idea does not survive", inconclusive: "Nothing is shown either way", warn: "No test refuted it, but not everything was shown", pass: "Nothing refuted it",
};

/** One sentence: it does not survive, because …; or what is open; or what that it stands does not show. */
export function conclusion({ overall, tests }: Pick<Falsification, "overall" | "tests">): string {
  const because = (t: Test) => (t.detail || t.sentence || t.id).replace(/[.\s]+$/, "");
  const all = (shown: string) => tests.filter((t) => shownOf(t) === shown), reasons = (list: Test[]) => [...new Set(list.map(because))].join("; ");
  const words = overallWords[overall] ?? overall, gates = [...all("inconclusive"), ...all("error")].filter((t) => t.class !== "W");
  switch (overall) {
    case "fail":
      return `${words}, because: ${reasons(all("fail"))}.`;
    case "warn":
      return `${words}: ${reasons(all("warn"))}.`;
    case "inconclusive":
      return `${words}${gates.length > 0 ? `, because: ${reasons(gates)}` : ""}.`;
  }
  return `${words}: ${all("pass").length} test${all("pass").length === 1 ? "" : "s"} passed. That is no proof that it earns money.`;
}
