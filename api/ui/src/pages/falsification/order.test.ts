import { equal, test } from "../../testing.ts";
import { conclusion, failuresFirst, sentenceOf } from "./order.ts";

const one = (n: number, verdict: string, detail = "") => ({ id: "t" + n, verdict, detail });

test("failures come first, then what is not clear, then what passed", () => {
  const tests = [one(1, "pass"), one(2, "inconclusive"), one(3, "fail"), one(4, "error"), one(5, "pass"), one(6, "new")];
  equal(failuresFirst(tests).map((t) => t.id), ["t3", "t4", "t2", "t1", "t5", "t6"]);
});

test("a test is a sentence of its claim and its reason", () => {
  equal(sentenceOf({ id: "costs", verdict: "fail", claim: "it survives double costs", detail: "its return is then -3 %" }), "Not shown: that it survives double costs, because its return is then -3 %.");
  equal(sentenceOf({ id: "costs", verdict: "pass", claim: "it survives double costs." }), "Not refuted: that it survives double costs.");
});

test("the conclusion names the reasons, and never praises", () => {
  equal(conclusion({ tests: [one(1, "pass"), one(2, "fail", "Costs eat it.")] }), "This idea does not survive, because: Costs eat it.");
  equal(conclusion({ tests: [one(1, "pass"), one(2, "warn")] }), "It was not refuted by 1 test; 1 came to no clear verdict. That is no proof that it earns money.");
  equal(conclusion({ tests: [one(1, "inconclusive")] }), "Nothing was shown: no test came to a verdict.");
});
