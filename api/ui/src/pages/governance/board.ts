// What the board says of a candidate, without DOM.
import * as f from "../../state/format.ts";
import type { Beside, Candidate, PromotionPlan, PromotionState, Reading, Verified } from "../shapes.ts";

/** The columns: what was packed and not judged, the stages, what has ended. */
export const columns = ["packed", "research", "paper", "canary", "live", "ended"] as const;
export type Column = (typeof columns)[number];

export const heads: Record<Column, string> = { packed: "Packed", research: "Research", paper: "Paper", canary: "Canary", live: "Live", ended: "Ended" };

/** The path of a revision's state. */
export const stateOf = (revision: string) => "/governance/promotion-state/candidate_revision/" + revision;

/** Where a card lies: what the control plane does not know was packed only. */
export function columnOf(state: Pick<PromotionState, "stage" | "stage_status"> | null): Column {
  if (!state) return "packed";
  if (["rejected", "superseded", "retired"].includes(state.stage_status)) return "ended";
  return columns.find((c) => c === state.stage) ?? "ended";
}

/** The stage whose gates are shown: the next one, at the end its own; "" for what has ended. */
export function aimOf(state: PromotionState): string {
  if (columnOf(state) === "ended") return "";
  return state.next_stage && columns.includes(state.next_stage as Column) ? state.next_stage : state.stage;
}

/** How long ago, in the unit that matters. */
export function age(seconds: number): string {
  const units: [number, string][] = [[172_800, "days"], [7200, "h"], [120, "min"]], sizes = { days: 86_400, h: 3600, min: 60 };
  const unit = units.find(([from]) => seconds >= from)?.[1] as keyof typeof sizes | undefined;
  return unit ? `${f.count(Math.floor(seconds / sizes[unit]))} ${unit} ago` : `${f.count(Math.floor(seconds))} s ago`;
}

/** Whether the log has what a document rests on. */
export function proof(v: Verified): { sign: "good" | "bad" | "open"; text: string } {
  if (!v.ok) return { sign: "bad", text: `Not verified: ${v.reason || "no entry of the log is shown"}.` };
  const at = `Entry ${v.entry?.index} of ${v.checkpoint?.origin}, in its tree of ${f.count(v.checkpoint?.size)}`;
  if (v.checkpoint?.remembered === null) return { sign: "open", text: `${at}. This host remembers no checkpoint yet to hold that against.` };
  return { sign: "good", text: `${at}, which continues the ${f.count(v.checkpoint?.remembered)} entries that this host remembers.` };
}

/** Who must still sign, and who has. */
export function signers({ required, granted, missing, excluded }: PromotionPlan["approvals"]): string[] {
  const out: string[] = [];
  if (required.length === 0) return ["Nobody: this stage is entered without approvals."];
  const roles = required.map(({ role, count }) => `${count} × ${role === "any" ? "risk or approver" : role}`).join(" and ");
  out.push(missing ? `${roles}, each another person: ${f.count(missing)} missing.` : `${roles}: complete.`);
  if (granted.length) out.push(`Signed: ${granted.map((g) => `${g.principal} (${g.role})`).join(", ")}.`);
  if (missing && excluded.length) out.push(`Not ${excluded.join(", ")}: who owns, asks or packs does not approve.`);
  return out;
}

/** A candidate's place in one sentence, for the page of a run. */
export function standing(c: Candidate, configured: boolean, state: { value: Reading<PromotionState> | null; error: { status: number } | null }): string {
  const name = `Candidate ${f.shortId(c.candidate_revision_id, 12)}`;
  if (c.verification === "failed") return `${name} is not what was packed.`;
  if (c.verification === "packed") return `${name} was packed and not submitted.`;
  if (!configured) return `${name} was submitted; its stage is not known without a control plane.`;
  if (state.value) {
    const { document: d, reachable, age_seconds, verified } = state.value;
    return `${name}: ${d.stage}, ${f.words(d.stage_status).toLowerCase()}${verified.ok ? "" : ", not verified"}${reachable ? "" : `, as of ${age(age_seconds)}`}.`;
  }
  if (state.error) return state.error.status === 404 ? `${name} is not known to the control plane.` : `${name} was submitted; the control plane does not answer.`;
  return `${name} was submitted.`;
}

/** A run beside its shadow in words; days that are not whole are named. */
export function beside(b: Beside): string {
  const days = b.whole_days
    ? `${f.count(b.whole_days)} whole ${b.whole_days === 1 ? "day" : "days"}: ${f.signedPercent(b.total_return)}, its shadow ${f.signedPercent(b.shadow_total_return)}, ${f.signedPercent(b.mean_daily_difference, 3)} a day between them`
    : "no whole day is compared";
  const left = b.partial_days.length ? `; partial, not compared: ${b.partial_days.join(", ")}` : "";
  return `${f.words(b.role)} ${f.shortId(b.run_id, 16)}: ${f.count(b.diverging_fills)} of ${f.count(b.fills)} fills diverge; ${days}${left}`;
}
