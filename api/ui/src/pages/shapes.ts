// The answers of the read API that the pages of the lab show. Only what is shown is named;
// what an older or smaller answer lacks is optional, and reads "n/a".
import type { EquityPoint, Metrics, MetricsMeta, Note } from "../api/types.ts";

export interface List<T> {
  items: T[];
  next_cursor: string | null;
  total: number;
}

export interface Mark {
  id: string;
  verdict: string;
}

/** A run in the list. */
export interface Row {
  run_id: string;
  kind?: string;
  origin?: string;
  slug?: string;
  family_id?: string | null;
  plan_id?: string | null;
  trial_index?: number | null;
  status: string;
  partial?: boolean;
  strategy?: { name: string; version?: string; sha256?: string } | null;
  params?: Record<string, unknown> | null;
  symbols?: string[] | null;
  timeframe?: string;
  exchange?: string;
  window?: { start: string | null; end: string | null } | null;
  started_at?: string | null;
  completed_at?: string | null;
  basis?: string;
  summary?: Partial<Metrics> | null;
  undefined?: string[] | null;
  holding_return?: number | null;
  trials?: { n: number; n_family?: number; position: number } | null;
  dsr?: number | null;
  test?: { state: "locked" | "seen" | "none"; looks?: number } | null;
  verdict?: { run_id?: string; overall: string; marks?: Mark[] | null } | null;
  stage?: string | null;
  tags?: string[] | null;
  note?: string;
  warnings?: Note[] | null;
}

export interface Split {
  split_id: string;
  role: string;
  start: string | null;
  end: string | null;
  status: string;
  metrics?: Partial<Metrics> | null;
  metrics_meta?: MetricsMeta | null;
}

export interface Run extends Row {
  config?: Record<string, unknown> | null;
  hashes?: Record<string, string | string[] | null> | null;
  /** Raised by each change of tags and note: a change names the one that it read. */
  note_version?: number;
  splits?: Split[] | null;
  assumptions?: Note[] | null;
  error?: string | null;
  error_details?: { code?: string } | null;
  lineage?: { base?: string | null; falsifications?: string[] | null; candidates?: string[] | null; plan?: string | null } | null;
}

export interface Curve {
  split: string;
  items: EquityPoint[];
  holding?: [number, number][] | null;
}

export interface FileRow {
  name: string;
  sha256: string;
  size: number;
  media_type: string;
  locked: boolean;
}

export interface Line {
  at: string | null;
  step?: number | null;
  level: string;
  source: string;
  message: string;
}

export interface Comparison {
  runs: Row[];
  parameters: { name: string; values: unknown[] }[];
  program?: { equal: boolean; diff?: string } | null;
  equity?: [number, number][][] | null;
  difference?: { mean: number | null; ci95?: [number, number] | null; p: number | null; days_needed?: number | null; sentence: string } | null;
  trades?: { common: number; only: number[] } | null;
  n?: number | null;
}

export interface Family {
  plan?: (Record<string, unknown> & { plan_id?: string; slug?: string; hypothesis?: string; trials?: unknown[] }) | null;
  done?: number;
  failed?: number;
  plan_id?: string;
  slug?: string;
  status?: string;
  progress?: { done: number; total: number; failed: number; eta_seconds?: number | null } | null;
  selected?: { index?: number; run_id?: string; params?: Record<string, unknown> } | null;
  luck?: { expected_max: number | null; observed: number | null; bins?: { from: number; to: number; count: number }[] | null } | null;
  pbo?: number | null;
  dsr?: number | null;
  walk_forward_optimised?: EquityPoint[] | null;
  sentence?: string;
}

export interface Trial {
  index: number;
  run_id?: string;
  params: Record<string, unknown>;
  status: string;
  metrics?: Partial<Metrics> | null;
}

export interface Test {
  number?: number;
  id: string;
  /** Completes "Not shown: that", the detail "because". */
  claim?: string;
  detail?: string;
  note?: string;
  sentence?: string;
  verdict: string;
  statistic?: { name: string; value: number | null; threshold: number | null; direction?: string } | null;
  evidence?: ({ path: string } | string)[] | null;
  repeat?: string;
}

export interface Falsification {
  run_id?: string;
  base?: string;
  overall: string;
  tests: Test[];
}

export interface Job {
  job_id: string;
  kind: string;
  status: "queued" | "running" | "completed" | "failed" | "cancelled" | "interrupted";
  progress?: { done?: number; total?: number; text?: string } | number | null;
  error?: { code?: string; message?: string } | string | null;
  links?: Record<string, string> | null;
}
