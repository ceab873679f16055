// The columns of the list of runs, and which of them the person has chosen.
import { signal } from "@preact/signals";
import { address } from "../../state/address.ts";
import * as f from "../../state/format.ts";
import { storage } from "../../state/theme.ts";
import { calledOf, plain, Verdict, type Column } from "../kit.tsx";
import type { Row } from "../shapes.ts";

/** A value of the summary; what is undefined there is n/a. */
export function summary(row: Row, key: "total_return" | "sharpe_ratio" | "max_drawdown" | "total_trades" | "win_rate"): number | null {
  return row.undefined?.includes(key) ? null : row.summary?.[key] ?? null;
}

/** A gain of a run that failed is no success, and not green. */
export const toneOf = (row: Row, value: number | null | undefined) => (f.tone(value) === "up" && (row.status === "failed" || row.partial) ? "" : f.tone(value));

/** What a row says of a run that did not simply end. */
const standing = (r: Row) => (r.partial ? `${r.status}, partial` : r.status === "completed" ? "" : r.status);

export const all: Column<Row>[] = [
  { key: "run", head: "Run", cell: (r) => <a href={address("run", r.run_id)} title={r.run_id}>{f.shortId(r.run_id, 14)}</a> },
  { key: "completed", head: "Ended", sort: "completed_at", tight: true, cell: (r) => <>{f.time(r.completed_at).slice(0, 16)}{standing(r) && <><br />{standing(r)}</>}</> },
  { key: "strategy", head: "Strategy", cell: (r) => <bdi title={r.strategy?.name}>{calledOf(r)}</bdi> },
  { key: "symbols", head: "Symbols", cell: (r) => <bdi>{(r.symbols ?? []).join(", ")} {r.timeframe}</bdi> },
  { key: "params", head: "Parameters", cell: (r) => <bdi>{Object.entries(r.params ?? {}).map(([k, v]) => `${k} ${plain(v)}`).join(", ")}</bdi> },
  { key: "return", head: "Return", number: true, sort: "total_return", cell: (r) => <span class={toneOf(r, summary(r, "total_return"))}>{f.signedPercent(summary(r, "total_return"))}</span> },
  { key: "holding", head: "Holding", number: true, cell: (r) => f.signedPercent(r.holding_return) },
  { key: "drawdown", head: "Max drawdown", number: true, sort: "max_drawdown", cell: (r) => f.percent(summary(r, "max_drawdown")) },
  { key: "sharpe", head: "Sharpe", number: true, sort: "sharpe_ratio", cell: (r) => f.ratio(summary(r, "sharpe_ratio")) },
  { key: "trades", head: "Trades", number: true, sort: "total_trades", cell: (r) => f.count(summary(r, "total_trades")) },
  { key: "trial", head: "Trial", number: true, cell: (r) => (r.trials ? `${f.count(r.trials.position)} of ${f.count(r.trials.n)}` : "–") },
  { key: "verdict", head: "Falsification", cell: (r) => <Verdict row={r} /> },
  { key: "status", head: "Status", cell: (r) => standing(r) || r.status },
  { key: "test", head: "Test split", cell: (r) => testWords(r) },
  { key: "stage", head: "Stage", cell: (r) => r.stage || "–" },
  { key: "tags", head: "Tags", cell: (r) => <bdi>{(r.tags ?? []).join(", ")}</bdi> },
  { key: "note", head: "Note", cell: (r) => <bdi>{r.note ?? ""}</bdi> },
  { key: "origin", head: "Origin", cell: (r) => [r.origin, r.kind].filter(Boolean).join(", ") },
  { key: "family", head: "Family", cell: (r) => (r.plan_id ? <a href={address("family", r.plan_id)}>{f.shortId(r.plan_id, 12)}</a> : "–") },
];

export function testWords(row: Row): string {
  if (!row.test || row.test.state === "none") return "–";
  const looks = row.test.looks ?? 0;
  return row.test.state === "locked" ? "locked" : looks > 1 ? `seen ${f.count(looks)} times` : "seen";
}

const usual = ["run", "completed", "strategy", "symbols", "return", "holding", "drawdown", "sharpe", "trades", "trial", "verdict", "tags"];
const key = "assay.columns";

function stored(): string[] {
  const known = (storage.get(key) ?? "").split(",").filter((name) => all.some((c) => c.key === name));
  return known.length > 0 ? known : usual;
}

export const chosen = signal(stored());

export function choose(name: string, on: boolean) {
  const wanted = new Set(chosen.peek());
  if (on) wanted.add(name);
  else if (wanted.size > 1) wanted.delete(name);
  chosen.value = all.map((c) => c.key).filter((k) => wanted.has(k));
  storage.set(key, chosen.value.join(","));
}
