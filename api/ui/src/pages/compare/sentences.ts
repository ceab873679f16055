// Whether runs differ by more than luck, in words.
import type { Comparison, Pair } from "../shapes.ts";

/** The level below which a difference is more than luck, for one comparison alone. */
const significant = 0.05;

export function differs({ p, mean_difference: mean }: Pair): string {
  if (p === null || mean === null) return "not known";
  return p < significant ? `${mean < 0 ? "worse" : "better"} by more than luck, if it were the only comparison` : "luck explains it";
}

export function sentence({ pairs }: Pick<Comparison, "pairs">): string {
  const known = pairs.filter(({ p }) => p !== null), real = known.filter(({ p }) => (p ?? 1) < significant).length;
  if (known.length === 0) return "The runs have too few days in common to tell whether they differ by more than luck.";
  if (real === 0) return "No run differs from the baseline by more than luck.";
  return `${real} of ${known.length} runs differ from the baseline by more than luck.`;
}
