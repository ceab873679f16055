// The verdict of a run in sentences: what a person needs to know before any number.
import * as f from "../../state/format.ts";
import { overallWords, shownOf } from "../falsification/order.ts";
import { plain } from "../kit.tsx";
import type { Run } from "../shapes.ts";

export interface Claim {
  name: string;
  text: string;
  /** good, bad, or neither: how the sentence is marked. */
  sign: "good" | "bad" | "open";
}

/** What the verdict is of. */
type Judged = Pick<Run, "mode" | "status" | "partial" | "summary" | "undefined" | "holding_return" | "trials" | "dsr" | "test" | "verdict" | "error" | "error_details"> & { kind?: string };

export function claims(run: Judged): Claim[] {
  const { summary, holding_return: holding, trials, dsr, test, verdict } = run;
  const gain = run.undefined.includes("total_return") ? null : summary.total_return;
  const out: Claim[] = [];
  if (run.status === "failed") out.push({ name: "Run", text: `It failed: ${run.error || plain(run.error_details?.["code"] ?? "no reason is known")}. Its numbers are no evidence.`, sign: "bad" });
  else if (run.partial && (run.mode === "paper" || run.mode === "live")) out.push({ name: "Run", text: "Somebody has stopped it: it is evidence for the time that it ran.", sign: "open" });
  else if (run.partial) out.push({ name: "Run", text: "It was stopped before the end of its data: its numbers cover a part of the window.", sign: "bad" });
  if (gain !== null && typeof holding === "number") {
    out.push({ name: "Holding", text: `${gain > holding ? "It earned more than holding" : "It did not earn more than holding"}: ${f.signedPercent(gain)} against ${f.signedPercent(holding)}.`, sign: gain > holding ? "good" : "bad" });
  } else out.push({ name: "Holding", text: "The return of holding is not known.", sign: "open" });
  if (test?.state === "locked") out.push({ name: "Test", text: "The test split is locked, and no look at it is recorded.", sign: "open" });
  else if (test?.state === "seen") out.push({ name: "Test", text: `The test split has been looked at${(test.looks ?? 0) > 1 ? ` ${f.count(test.looks)} times` : ""}: what is chosen from now on knows it.`, sign: "open" });
  out.push(trials
    ? { name: "Search", text: `Trial ${f.count(trials.position)} of ${f.count(trials.n)} on these candles.`, sign: "open" }
    : { name: "Search", text: "The search on these candles has not been counted.", sign: "open" });
  if (typeof dsr === "number") {
    out.push({ name: "Luck", text: `Were there no skill at all, the best of as many trials would reach this ratio in ${f.percent(1 - dsr, 1)} of all cases; at most 5 % is needed.`, sign: dsr >= 0.95 ? "good" : "bad" });
  } else out.push({ name: "Luck", text: "There is no deflated Sharpe ratio: too little data, or no counted search.", sign: "open" });
  out.push(verdict
    ? { name: "Falsification", text: `${overallWords[verdict.overall] ?? f.words(verdict.overall)}: ${counted(verdict.marks ?? [])}.`, sign: verdict.overall === "pass" ? "good" : verdict.overall === "fail" ? "bad" : "open" }
    : { name: "Falsification", text: "No attempt to refute it is recorded.", sign: "open" });
  return out;
}

function counted(marks: readonly { class?: string; verdict: string }[]): string {
  const by = new Map<string, number>();
  for (const mark of marks) by.set(shownOf(mark), (by.get(shownOf(mark)) ?? 0) + 1);
  return [...by].map(([verdict, n]) => `${n} ${verdict}`).join(", ") || "no test";
}
