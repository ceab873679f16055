import { equal, test } from "../../testing.ts";
import { differs, sentence } from "./sentences.ts";

const pair = (p: number | null, mean: number | null = 0.001) => ({ run_id: "r", mean_difference: mean, ci95: null, p, days_needed: null, days: 300 });

test("a difference is said only where it is more than luck, with its direction", () => {
  equal(differs(pair(null)), "not known");
  equal(differs(pair(0.2)), "luck explains it");
  equal(differs(pair(0.01)), "better by more than luck, if it were the only comparison");
  equal(differs(pair(0.01, -0.001)), "worse by more than luck, if it were the only comparison");
});

test("the sentence counts what is known", () => {
  equal(sentence({ pairs: [pair(null)] }), "The runs have too few days in common to tell whether they differ by more than luck.");
  equal(sentence({ pairs: [pair(0.2), pair(null)] }), "No run differs from the baseline by more than luck.");
  equal(sentence({ pairs: [pair(0.2), pair(0.01)] }), "1 of 2 runs differ from the baseline by more than luck.");
});
