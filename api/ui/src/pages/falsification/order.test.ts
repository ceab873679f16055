import { equal, test } from "../../testing.ts";
import { conclusion, failuresFirst } from "./order.ts";

const one = (n: number, verdict: string, detail = "", of = "G") => ({ id: "t" + n, class: of, verdict, detail });

test("failures come first, then what is not clear, then what passed; what only describes is last", () => {
  const tests = [one(1, "pass"), one(2, "inconclusive"), one(3, "fail"), one(4, "error"), one(5, "pass", "", "D"), one(6, "new"), one(7, "fail", "", "W")];
  equal(failuresFirst(tests).map((t) => t.id), ["t3", "t4", "t7", "t2", "t1", "t5", "t6"]);
});

test("the conclusion is the one of the lab: only a gate refutes, and nothing praises", () => {
  equal(conclusion({ overall: "fail", tests: [one(1, "pass"), one(2, "fail", "Costs eat it."), one(3, "fail", "one year", "W")] }), "This idea does not survive, because: Costs eat it.");
  equal(conclusion({ overall: "warn", tests: [one(1, "pass"), one(2, "fail", "one year carries it", "W")] }), "No test refuted it, but not everything was shown: one year carries it.");
  equal(conclusion({ overall: "inconclusive", tests: [one(1, "inconclusive", "15 trades are too few"), one(2, "fail", "one year", "W"), one(3, "inconclusive", "15 trades are too few")] }), "Nothing is shown either way, because: 15 trades are too few.");
  equal(conclusion({ overall: "pass", tests: [one(1, "pass")] }), "Nothing refuted it: 1 test passed. That is no proof that it earns money.");
});
