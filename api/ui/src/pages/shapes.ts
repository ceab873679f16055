// The answers of the read API that the pages of the lab show, as openapi.json has them.
// What is an open object there, a document of the lab, is described here.
import type { LogLine } from "../api/types.ts";
import type { components } from "../gen/api.ts";

type Schemas = components["schemas"];

export type Row = Schemas["RunRow"];
export type Run = Schemas["ArchivedRun"];
export type Curve = Schemas["RunEquity"];
export type Published = Schemas["RunSeries"];
export type Marks = Schemas["RunMarks"];
export type SharedTrades = Schemas["SharedTrades"];
export type Candles = Schemas["RunCandles"];
export type FileRow = Schemas["RunFiles"]["items"][number];
export type Trial = Schemas["FamilyTrialList"]["items"][number];
export type Line = LogLine;
export type Dataset = Schemas["Dataset"];
export type DatasetDetail = Schemas["DatasetDetail"];
export type Gap = Schemas["GapList"]["items"][number];
export type Job = Schemas["Job"];
export type JobAnswer = Schemas["JobAnswer"];
export type SearchRequest = Schemas["SearchRequest"];
export type Search = Schemas["Search"];
export type Upload = Schemas["Upload"];
export type ImportRequest = Schemas["ImportRequest"];
export type ImportOptions = Schemas["ImportOptions"];
export type FetchRequest = Schemas["FetchRequest"];
export type CandleReport = Schemas["CandleReport"];

export type Candidate = Schemas["Candidate"];
export type Reach = Schemas["ControlReach"];
export type Verified = Schemas["Verified"];

/** A document of the control plane, of a form that its own openapi.json has. */
export type Reading<T> = Omit<Schemas["ControlReading"], "document"> & { document: T };

/** A paper or live run beside its shadow, by its whole UTC days. */
export interface Beside {
  run_id: string;
  role: string;
  fills: number;
  diverging_fills: number;
  whole_days: number;
  partial_days: string[];
  total_return: number | null;
  shadow_total_return: number | null;
  mean_daily_difference: number | null;
}

export interface PromotionState {
  candidate_revision_id: string;
  stage: string;
  stage_status: string;
  next_stage: string | null;
  assurance: string;
  evidence_valid_until: string | null;
  open_incidents: { incident_id: string; severity: string; reason: string }[];
  /** Of days after the seal, reason in words; days in dispute only where there are any. */
  shadow?: { reason?: string; days_in_dispute?: number; compared?: Beside[] } | null;
  history: { seq: number; at: string; to: string; reason: string }[];
}

export interface PromotionPlan {
  stage: string;
  verdict: string;
  gates: { gate_id: string; verdict: string; reason: string }[];
  approvals: { required: { role: string; count: number }[]; excluded: string[]; granted: { principal: string; role: string }[]; missing: number };
}

export interface Missing {
  experiment_id: string;
  gate_id: string;
  stage: string;
  status: string;
  reason: string;
  command: string;
  then: string | null;
  /** What is not shown and why, and the command that shows it; not of an earlier plane. */
  sentence?: string;
  see_with?: string;
}

export interface List<T> {
  items: T[];
  next_cursor: string | null;
  total: number;
}

export type Numbers = Partial<Record<string, number | null>>;

export type Split = Omit<Run["splits"][number], "metrics"> & { metrics: Numbers | null };

/** A search; lists leave the plan and the result out. */
export type Family = Omit<Schemas["FamilyRow"], "plan" | "result"> & { plan: { hypothesis?: string; trials?: unknown[]; request?: { initial_cash?: number } } | null; result: FamilyResult | null };

/** What is shown of a family_result.json; its selection is null where nothing was selected. */
export interface FamilyResult {
  status: string;
  selected: { trial_index: number; run_id: string } | null;
  walk_forward_optimised: { metrics: Numbers | null; windows?: { split_id: string; chosen_trial: number | null }[] } | null;
  selection: { n_trials: number; dsr_max: number | null; min_btl_years: number | null; pbo: { value: number | null } } | null;
}

/** An entry of falsify/summary.json, with what the service says of it. */
export interface Test {
  id: string;
  sentence?: string;
  value?: number | null;
  bound?: number | null;
  /** The command that makes it again. */
  repeat?: string;
  /** G: a failure refutes. W: a failure warns. D: it only describes. */
  class?: string;
  /** Completes "Not shown: that", the detail "because". */
  claim?: string;
  detail?: string;
  note?: string;
  verdict: string;
  statistic?: { name: string };
  evidence?: { path: string }[] | null;
}

export type Falsification = Omit<Schemas["FalsificationResult"], "tests"> & { tests: Test[] };

/** What the importer says of files; lists are cut short. */
export interface ImportReport {
  profile: string;
  rows_read: number;
  skipped: number;
  duplicates_dropped: number;
  reordered: number;
  ohlc_violations: number;
  warnings: { code: string; message: string }[];
  gaps: { missing: number; gap_count: number; longest: number };
}

/** compare/v1: the first run is the baseline. */
export interface Comparison {
  baseline: string;
  split: string;
  comparability: { comparable: boolean; differences: { aspect: string }[] };
  differs: { pointer: string; values: Record<string, unknown> }[];
  program: { equal: boolean; diff: { run_id: string; files: FileDiff[]; note: string | null }[] };
  runs: Compared[];
  pairs: Pair[];
  /** All trades of the split, compared by the service. */
  trades: SharedTrades;
}

/** A unified diff of one file, or a note why there is none. */
export interface FileDiff {
  path: string;
  diff: string;
  note: string | null;
}

export interface Compared {
  run_id: string;
  status: string;
  metrics: Numbers;
  selection: { trials: { n: number; position: number } | null };
  falsification: { run_id: string; overall: string } | null;
}

/** The difference from the baseline on the days that both have: a return, not annualised. */
export interface Pair {
  run_id: string;
  mean_difference: number | null;
  ci95: [number, number] | null;
  p: number | null;
  days_needed: number | null;
  days: number;
}
