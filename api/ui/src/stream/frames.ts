// What each frame says about the run: (run, frame) -> run, nothing else. Frames come in
// order and once (sequence.ts). They do not name the run they are about: the server
// announces another run first, by status_update.
import type { EquityTuple, Fill, Health, LogLine, Note, Order, Position, RowsTotal, RunConfig, Snapshot, Status, Trade } from "../api/types.ts";
import { idle, type Recent, type Report } from "../state/store.ts";
import { isObject, type Frame } from "./frame.ts";
import { appended, thinned, tuple } from "./curve.ts";
import { bounded, gap, joined, replaced } from "./lines.ts";
import { counted, merged } from "./rows.ts";
import { blank, type Run } from "./run.ts";

type Payload = Record<string, unknown>;
type Change = (run: Run, payload: Payload, frame: Frame) => Run;

const changes: Record<string, Change> = {
  snapshot: (run, p) => ofSnapshot(run, p as unknown as Partial<Snapshot> & Status),
  run_result: ofConfig,
  status_update: ofStatus,
  progress: ofProgress,
  health: ofHealth,
  log: ofLog,
  alarms: (run, p) => (Array.isArray(p.alarms) ? { ...run, status: { ...run.status, alarms: p.alarms } } : run),
  equity: (run, p) => (run.results ? run : { ...run, equity: appended(run.equity, list<EquityTuple>(p.points).filter(isTuple)) }),
  position: (run, p) => (run.results ? run : { ...run, positions: list<Position>(p.items) }),
  annotation: (run, p) => named(run, [p.name]),
  order: (run, p) => ofRows(run, "orders", list<Order>(p.items), p.omitted, (o) => o.order_id),
  fill: (run, p) => ofRows(run, "fills", list<Fill>(p.items), p.omitted, (f) => f.fill_id),
  trade: (run, p) => ofRows(run, "trades", list<Trade>(p.items), p.omitted, (t) => t.trade_id),
};

/** Frames of other types, and broken ones, change nothing. */
export function apply(run: Run, frame: Frame): Run {
  try {
    return Object.hasOwn(changes, frame.type) ? changes[frame.type]!(run, frame.payload, frame) : run;
  } catch {
    return run;
  }
}

const list = <T>(value: unknown): T[] => (Array.isArray(value) ? (value as T[]) : []);
const isTuple = (p: unknown): boolean => Array.isArray(p) && p.length >= 4 && p.every((v) => typeof v === "number");

/** The fields of a payload that a status has. */
function statusFields(p: Payload): Partial<Status> {
  return Object.fromEntries(Object.keys(idle).filter((key) => p[key] !== undefined).map((key) => [key, p[key]]));
}

/** The same run with another status, or another run of which no more is known. */
export function withStatus(run: Run, status: Status): Run {
  return status.run_id === run.status.run_id ? { ...run, status } : blank(status, run.health);
}

function ofStatus(run: Run, p: Payload): Run {
  const { status, run_id } = p;
  if (typeof status !== "string" || typeof run_id !== "string") return run;
  const before = run_id === run.status.run_id ? run.status : idle;
  return withStatus(run, { ...before, ...statusFields(p) });
}

function ofProgress(run: Run, p: Payload, frame: Frame): Run {
  const before = run.status;
  if (before.status === "idle" || run.results) return run;
  const status = { ...before, ...statusFields(p) };
  const runtime = Date.parse(frame.timestamp) - Date.parse(before.start_time ?? "");
  if (before.status === "running" && runtime >= 0) {
    status.runtime_seconds = runtime / 1000;
    status.updated_at = frame.timestamp;
  }
  return { ...run, status };
}

function ofHealth(run: Run, p: Payload): Run {
  if (!run.health || !isObject(p.checks)) return run;
  return { ...run, health: { ...run.health, status: p.status as Health["status"], checks: { ...run.health.checks, ...p.checks } } };
}

/** Lines that the stream left out are named where they were. */
function ofLog(before: Run, p: Payload): Run {
  const lines = list<LogLine>(p.lines).filter(isObject) as unknown as LogLine[];
  const run = alarmed(before, lines);
  const all = run.overlap ? joined(run.log, lines) : null;
  if (all) return { ...run, log: all, overlap: all === run.log };
  const left = Number(p.suppressed) || 0;
  return { ...run, log: bounded([...run.log, ...(left > 0 ? [gap(left)] : []), ...lines]), overlap: false };
}

/** The alarms of paper and live are lines of the host with a code, and warnings of the run from that moment on. */
function alarmed(run: Run, lines: LogLine[]): Run {
  if (run.results || run.status.mode === "backtest") return run;
  const notes = lines.filter((l) => l.source === "host" && l.level !== "info" && l.fields?.code).map((l) => ({ code: String(l.fields!.code), message: l.message }));
  const warnings = [...run.report.warnings];
  for (const note of notes) if (!warnings.some((w) => w.code === note.code && w.message === note.message)) warnings.push(note);
  return warnings.length === run.report.warnings.length ? run : { ...run, report: { ...run.report, warnings } };
}

function ofRows<K extends keyof RowsTotal>(run: Run, table: K, items: Recent[K], omitted: unknown, id: (row: Recent[K][number]) => string): Run {
  if (run.results || items.length === 0) return run;
  type Row = Recent[K][number];
  const rows = merged<Row>(run.recent[table], items, Number(omitted) || 0, id);
  const total = { ...run.recent.total, [table]: counted<Row>(run.recent.total[table], items, id) };
  return { ...run, recent: { ...run.recent, [table]: rows, total } };
}

function named(run: Run, names: unknown[]): Run {
  const fresh = names.filter((n): n is string => typeof n === "string" && !run.annotations.includes(n));
  return fresh.length === 0 ? run : { ...run, annotations: [...run.annotations, ...fresh] };
}

function ofConfig(run: Run, p: Payload): Run {
  const config = isObject(p.config) && !run.results ? (p.config as unknown as RunConfig) : run.config;
  return named({ ...run, config }, list(p.annotations));
}

/** A snapshot is everything, except what only the page has: the config, the longer log, the results. */
function ofSnapshot(run: Run, p: Partial<Snapshot> & Status): Run {
  if (typeof p.status !== "string" || typeof p.run_id !== "string") return run;
  const same = p.run_id === run.status.run_id;
  const before = same ? run : blank(idle, null);
  const fresh = list<LogLine>(p.log);
  const next: Run = {
    ...before,
    status: { ...idle, ...statusFields(p as unknown as Payload) },
    health: p.health ?? run.health,
    log: replaced(before.log, fresh),
    overlap: true,
  };
  return ofConfig(before.results ? next : { ...next, ...contents(p) }, p as unknown as Payload);
}

function contents(p: Partial<Snapshot>): Pick<Run, "report" | "recent" | "positions" | "equity"> {
  return {
    report: reportOf(p),
    recent: {
      orders: list(p.recent_orders), fills: list(p.recent_fills), trades: list(p.recent_trades),
      total: p.rows_total ?? { orders: 0, fills: 0, trades: 0 },
    },
    positions: list(p.positions),
    equity: thinned((p.equity_curve ?? []).map(tuple)),
  };
}

/** Until the end there are no metrics: zeros that are all named as undefined. */
export function reportOf(p: Partial<Snapshot>): Report {
  const ended = p.status === "completed" || p.status === "failed";
  return {
    metrics: ended ? p.performance_metrics ?? null : null,
    undefined: list<string>(p.performance_metrics_undefined), meta: ended ? p.metrics_meta ?? null : null,
    assumptions: list<Note>(p.assumptions), warnings: list<Note>(p.warnings),
  };
}
