// What the tiles say, from status, metrics and, while a run goes on, the equity curve.
import type { EquityTuple, Metrics, Status } from "../api/types.ts";
import * as f from "../state/format.ts";
import type { Report } from "../state/store.ts";

export interface Tile {
  name: string;
  label: string;
  /** Unit beside the label. */
  unit: string;
  text: string;
  /** Exactly as sent; null when there is no value. */
  value: number | null;
  tone: "up" | "down" | "";
  note: string;
  noteTone: "up" | "down" | "";
}

const reasons: Record<string, string> = {
  too_few_returns: "too few returns",
  zero_variance: "returns do not vary",
  no_losses: "no losing trade",
  no_trades: "no closed trade",
  no_wins: "no winning trade",
  window_too_short: "window too short",
  zero_drawdown: "no drawdown",
  insufficient: "sample too small",
  not_applicable: "not applicable",
};

/** Why a metric has no value; null when it has one. */
export function undefinedReason(report: Report, key: string): string | null {
  const value = report.metrics?.[key as keyof Metrics];
  if (value !== null && value !== undefined && !report.undefined.includes(key)) return null;
  const reason = report.meta?.undefined[key];
  return reason ? reasons[reason] ?? reason.replaceAll("_", " ") : "not known";
}

/** What the tiles are made of. */
export interface Numbers {
  status: Status;
  report: Report;
  curve: EquityTuple[];
  /** The money of the run and its decimals. */
  quote: string;
  decimals: number;
  /** Whether only the status is known as it is now. */
  dated: boolean;
  /** Whether the run has ended and its results are still to come. */
  awaiting: boolean;
  /** Steps of the equity curve. */
  steps: number;
}

export interface Trials {
  n: number;
  position: number;
  /** How often candles that are held out were looked at. */
  holdout_looks: number;
}

/** The count of the search, which a service that counts adds to the results. */
export const trialsOf = (results: unknown): Trials | null => (results as { trials?: Trials | null } | null)?.trials ?? null;

/** The place of a run in the search, as a sentence for those who judge it. */
export function searchWords({ n, position, holdout_looks: looks }: Trials): string {
  const seen = looks === 0 ? "never looked at" : looks === 1 ? "looked at once" : `looked at ${f.count(looks)} times`;
  return `Trial ${f.count(position)} of ${f.count(n)} on these candles. Their hold-out was ${seen}.`;
}

/** The least that ratios are estimated from; the lab has the same. */
const enough = { trades: 30, candles: 250, returns: 250 };

export function tiles(now: Numbers): Tile[] {
  const { status, quote, decimals } = now;
  return [
    tile("value", "Value", status.value, f.money(status.value, decimals), quote),
    pnl(now),
    metric(now, "buy_hold_return", "Holding", f.signedPercent),
    drawdown(now),
    sharpe(now),
    metric(now, "fees_paid", "Fees", (v) => f.money(v, decimals)),
    metric(now, "win_rate", "Win rate", f.percent),
    tile("total_trades", "Trades", status.trade_count, f.count(status.trade_count)),
  ];
}

function tile(name: string, label: string, value: number | null, text: string, unit = "", note = ""): Tile {
  return { name, label, unit, text, value, tone: "", note, noteTone: "" };
}

function pnl({ status, report, decimals }: Numbers): Tile {
  const initial = status.value - status.pnl;
  const known = status.status === "running" ? null : report.metrics?.total_return;
  const fraction = known ?? (initial > 0 ? status.pnl / initial : null);
  const cut = cutShort(status);
  const tone = (v: number | null) => (cut && f.tone(v) === "up" ? "" : f.tone(v));
  return {
    ...tile("pnl", "PnL", status.pnl, f.signedMoney(status.pnl, decimals), "", f.signedPercent(fraction)),
    tone: tone(status.pnl), noteTone: tone(fraction),
  };
}

/** Whether a run did not get to its end, so that a gain of it is no success. Paper and live runs have no end: a stop is one. */
export const cutShort = (s: Status): boolean => s.status === "failed" || (s.status === "completed" && s.partial && s.mode === "backtest");

/** With its error, and not at all where the lab says insufficient. */
function sharpe(now: Numbers): Tile {
  const { report, status, steps } = now;
  const returns = report.meta?.n_returns ?? 0, error = report.metrics?.sharpe_stderr;
  const few = status.status !== "running" && report.metrics !== null && !report.undefined.includes("sharpe_ratio")
    ? (report.metrics.total_trades < enough.trades ? "too few trades" : steps < enough.candles ? "too few candles" : "") : "";
  if (few) return tile("sharpe_ratio", "Sharpe", null, f.missing, "", few);
  const note = [
    typeof error === "number" && !report.undefined.includes("sharpe_stderr") && `± ${f.ratio(error)}`,
    returns < enough.returns && sampleWords(report),
  ];
  return metric(now, "sharpe_ratio", "Sharpe", f.ratio, note.filter(Boolean).join(", "));
}

function drawdown(now: Numbers): Tile {
  const going = now.status.status === "running";
  if (going && now.dated) return tile("max_drawdown", "Max drawdown", null, "–", "", "no stream");
  if (!going || now.curve.length === 0) return metric(now, "max_drawdown", "Max drawdown", f.percent);
  const worst = now.curve.reduce((most, point) => Math.max(most, point[3]), 0);
  return tile("max_drawdown", "Max drawdown", worst, f.percent(worst));
}

type Shown = "sharpe_ratio" | "win_rate" | "max_drawdown" | "buy_hold_return" | "fees_paid";

function metric({ status, report, awaiting }: Numbers, name: Shown, label: string, format: (v: number) => string, note = ""): Tile {
  const why = undefinedReason(report, name);
  if (why === null) {
    const value = report.metrics?.[name] ?? 0;
    return tile(name, label, value, format(value), "", note);
  }
  if (status.status === "running") return tile(name, label, null, "–", "", "not yet");
  if (awaiting && !report.metrics) return tile(name, label, null, "–", "", "loading…");
  return tile(name, label, null, f.missing, "", why);
}

function sampleWords(report: Report): string {
  const meta = report.meta;
  return meta ? `${f.count(meta.n_returns)} ${meta.sample === "day" ? "days" : "candles"}` : "";
}
