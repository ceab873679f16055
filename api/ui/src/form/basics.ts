// What is wrong with the fields that every form has. The service's own rules; where the
// lists may be incomplete the finding is not certain.
import type { Exchange, Strategy } from "../api/types.ts";
import { isolated } from "../state/bidi.ts";
import type { FormMode } from "./draft.ts";
import { moment, typed } from "./moment.ts";
import { exchangeReason, modeReason, seconds } from "./offers.ts";
import type { Window } from "./offers.ts";
import { read } from "./validate.ts";
import type { Problem } from "./validate.ts";
import { fieldOf } from "./schema.ts";

export interface Finding extends Problem {
  pointer: string;
  label: string;
}

export interface Basics {
  mode: FormMode;
  strategyName: string;
  strategy: Strategy | undefined;
  symbols: readonly string[];
  timeframe: string;
  exchangeId: string;
  exchange: Exchange | undefined;
  exchanges: readonly Exchange[];
  offering: readonly Exchange[];
  range: Window | null;
  start: string;
  end: string;
  cash: string;
}

export const labels = {
  "/mode": "Mode", "/strategy_name": "Strategy", "/symbols": "Symbols", "/timeframe": "Timeframe", "/exchange": "Exchange", "/start_date": "From", "/end_date": "To",
  "/initial_cash": "Cash",
};

export const isSymbol = (s: string) => /^[^/\s:]{1,32}\/[^/\s:]{1,32}$/.test(s);
const cashField = fieldOf("cash", { type: "number", exclusiveMinimum: 0, maximum: 1e15 });

export function basicFindings(b: Basics): Finding[] {
  const list: Finding[] = [];
  const say = (pointer: keyof typeof labels) => (message: string, certain = true) => {
    if (message && !list.some((f) => f.pointer === pointer)) list.push({ pointer, label: labels[pointer], message, certain });
  };
  say("/mode")(modeReason(b.mode, b.strategy, b.exchanges));
  say("/strategy_name")(strategyProblem(b));
  symbolProblems(b, say("/symbols"));
  timeframeProblems(b, say("/timeframe"));
  exchangeProblems(b, say("/exchange"));
  if (b.mode === "backtest") windowProblems(b, say("/start_date"), say("/end_date"));
  if (b.mode !== "live") say("/initial_cash")(read(cashField, b.cash).problem?.message ?? "");
  return list;
}

type Say = (message: string, certain?: boolean) => void;

function strategyProblem(b: Basics): string {
  if (!b.strategyName) return "choose one";
  if (!b.strategy) return `is not among the strategies of this service: ${isolated(b.strategyName)}`;
  return b.strategy.status === "available" ? "" : `is unavailable: ${isolated(b.strategy.error?.message ?? "unknown reason")}`;
}

function symbolProblems(b: Basics, say: Say) {
  const n = b.symbols.length;
  const odd = b.symbols.find((s) => !isSymbol(s));
  if (!n) return say("add at least one, such as BTC/USDT");
  if (odd) return say(`is no symbol: ${isolated(odd)}; write BASE/QUOTE, such as BTC/USDT`);
  const quotes = new Set(b.symbols.map((s) => s.split("/")[1]));
  if (quotes.size > 1) return say(`all symbols of a run need the same quote currency, not ${[...quotes].join(" and ")}`);
  const s = b.strategy;
  if (s && (n < s.min_symbols || n > s.max_symbols)) return say(`${isolated(s.display_name || s.name)} takes ${takes(s)}, not ${n}`);
  const reasons = b.offering.map((e) => exchangeReason(e, b.mode, b.symbols, ""));
  if (!b.offering.length || !reasons.every(Boolean)) return;
  say(b.offering.length === 1 ? `${isolated(b.offering[0]?.name ?? "")} has ${reasons[0]}` : "no one exchange here has all of them", false);
}

/** "1 symbol", "2 symbols", "2 to 10 symbols". */
export function takes(s: Strategy): string {
  const count = s.min_symbols === s.max_symbols ? String(s.min_symbols) : `${s.min_symbols} to ${s.max_symbols}`;
  return `${count} ${count === "1" ? "symbol" : "symbols"}`;
}

function timeframeProblems(b: Basics, say: Say) {
  if (!b.timeframe) return say("choose one, such as 1h");
  if (!seconds(b.timeframe)) return say("write a count and one of s, m, h, d, w, M, such as 1h");
  const only = b.strategy?.timeframes;
  if (only && !only.includes(b.timeframe)) return say(`${isolated(b.strategy?.display_name || b.strategyName)} works on ${only.join(", ")} only`);
  const able = b.offering.filter((e) => exchangeReason(e, b.mode, b.symbols, "") === "");
  if (able.length && able.every((e) => exchangeReason(e, b.mode, b.symbols, b.timeframe))) say(`there are no ${b.timeframe} candles of ${b.symbols.join(", ")}`, false);
}

function exchangeProblems(b: Basics, say: Say) {
  if (!b.exchangeId) return say(b.mode === "live" ? "choose one: live needs an exchange" : "");
  if (!b.exchange) return say(`is not among the exchanges of this service: ${b.exchangeId}`);
  const reason = exchangeReason(b.exchange, b.mode, [], "");
  say(reason && (b.exchange.status === "available" ? `does not offer ${b.mode}` : `is unavailable: ${reason}`));
}

function windowProblems(b: Basics, from: Say, to: Say) {
  const start = moment(b.start), end = moment(b.end);
  const spelling = "is no time: write 2024-01-31 or 2024-01-31 12:00 (UTC)";
  if (b.start.trim() && !start) from(spelling);
  if (b.end.trim() && !end) to(spelling);
  if (start && end && start.ms >= end.ms) to("must be after From");
  if (!b.range) return;
  const first = Date.parse(b.range.start), last = Date.parse(b.range.end);
  if (start && start.ms >= last) from(`is after the last candle: they end ${typed(b.range.end)}`, false);
  else if (start && start.ms < first) from(`is before the first candle: the run begins ${typed(b.range.start)}`, false);
  if (end && end.ms <= first) to(`is before the first candle: they begin ${typed(b.range.start)}`, false);
  else if (end && end.ms > last) to(`is after the last candle: the run ends ${typed(b.range.end)}`, false);
}
