import { equal, ok, test } from "../../testing.ts";
import { count } from "../../state/format.ts";
import type { Candidate, PromotionState } from "../shapes.ts";
import { age, aimOf, beside, columnOf, proof, signers, standing } from "./board.ts";

const state = (stage: string, stage_status = "active", next_stage: string | null = null): PromotionState => ({
  candidate_revision_id: "cr-1", stage, stage_status, next_stage, assurance: "signed", evidence_valid_until: null, open_incidents: [], history: [],
});
const verified = { ok: true, reason: "", entry: { index: 6, type: "t", leaf_sha256: "00" }, checkpoint: { origin: "log.example", size: 1200, root_sha256: "00", remembered: 1100 as number | null } };

test("a card lies in its stage, and what has ended lies apart", () => {
  equal(columnOf(null), "packed");
  equal(columnOf(state("research", "pending")), "research");
  equal(columnOf(state("canary", "suspended")), "canary");
  equal(columnOf(state("paper", "rejected")), "ended");
  equal(columnOf(state("moon")), "ended");
  equal(aimOf(state("paper", "active", "canary")), "canary");
  equal(aimOf(state("live")), "live");
  equal(aimOf(state("retired", "retired", null)), "");
});

test("a proof says what it was held against", () => {
  equal(proof(verified).sign, "good");
  ok(proof(verified).text.includes(count(1100)), "what is remembered");
  equal(proof({ ...verified, checkpoint: { ...verified.checkpoint, remembered: null } }).sign, "open");
  equal(proof({ ok: false, reason: "entry 6 is not in the log", entry: null, checkpoint: null }), { sign: "bad", text: "Not verified: entry 6 is not in the log." });
});

test("a run beside its shadow names the days that are not compared", () => {
  const none = { run_id: "svc_1", role: "paper", fills: 4, diverging_fills: 1, whole_days: 0, partial_days: ["2026-11-01"], total_return: null, shadow_total_return: null, mean_daily_difference: null };
  equal(beside(none), "Paper svc_1: 1 of 4 fills diverge; no whole day is compared; partial, not compared: 2026-11-01");
  const text = beside({ ...none, whole_days: 14, partial_days: [], total_return: 0.01, shadow_total_return: 0.02, mean_daily_difference: -0.0007 });
  ok(text.includes("14 whole days") && text.includes("its shadow") && !text.includes("partial"), "whole days");
});

test("who must sign is counted", () => {
  const required = [{ role: "risk", count: 1 }, { role: "any", count: 1 }];
  equal(signers({ required: [], granted: [], missing: 0, excluded: [] }).length, 1);
  const [who, signed, not] = signers({ required, granted: [{ principal: "rita", role: "risk" }], missing: 1, excluded: ["owner"] });
  ok(who?.includes("1 missing") && signed?.includes("rita (risk)") && not?.includes("owner"), "all three");
});

test("the page of a run never says more than is known", () => {
  const c = { candidate_revision_id: "cr-0123456789abcdef", verification: "sealed" } as Candidate;
  const none = { value: null, error: null };
  ok(standing({ ...c, verification: "packed" }, true, none).includes("not submitted"), "packed");
  ok(standing({ ...c, verification: "failed" }, true, none).includes("not what was packed"), "failed");
  ok(standing(c, false, none).includes("without a control plane"), "not configured");
  ok(standing(c, true, { value: null, error: { status: 503 } }).includes("does not answer"), "away");
  ok(standing(c, true, { value: null, error: { status: 404 } }).includes("not known"), "unknown");
  const old = { document: state("paper"), read_at: "", age_seconds: 90, reachable: false, reason: "x", verified };
  ok(standing(c, true, { value: old, error: null }).includes("paper, active, as of"), "old");
});

test("an age is in the unit that matters", () => {
  equal([0, 119, 120, 7199, 7200, 172_800].map(age), ["0 s ago", "119 s ago", "2 min ago", "119 min ago", "2 h ago", "2 days ago"]);
});
