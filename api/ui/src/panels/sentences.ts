// What happens and what happened, in words.
import type { RunConfig, Status } from "../api/types.ts";
import { isolated } from "../state/bidi.ts";
import { count, duration, percent, time, words } from "../state/format.ts";

const phases: Record<Status["phase"], string> = {
  "": "",
  starting: "starting",
  reconciling: "reconciling orders and positions with the venue",
  warming: "warming up",
  trading: "trading",
  reducing: "reducing: only orders that shrink a position pass",
  halted: "halted: only cancels pass",
  stopping: "stopping",
};

export const phaseWords = (phase: Status["phase"]): string => phases[phase] ?? phase;

/** The parts of the progress line of a backtest. */
export function backtestWords(run: Status): string[] {
  const parts = [percent(Math.floor((run.progress ?? 0) * 100) / 100, 0)];
  if (run.phase !== "trading") parts.push(phaseWords(run.phase));
  if (run.simulated_time) parts.push(time(run.simulated_time) + " UTC");
  if (run.candles_per_second > 0) parts.push(count(Math.round(run.candles_per_second)) + " candles/s");
  if (run.eta_seconds !== null) parts.push(duration(run.eta_seconds) + " left");
  return parts.filter(Boolean);
}

/** The parts of the line that says how a run ended. */
export function endWords(run: Status, config: RunConfig | null, strategy = config?.strategy_name ?? ""): string[] {
  const parts: string[] = [];
  if (run.stop_reason && run.stop_reason !== "error") parts.push(run.stop_reason);
  if (config) parts.push(`${isolated(strategy)} on ${symbols(config.symbols)} ${config.timeframe}`);
  if (config?.window.start) parts.push(windowWords(config));
  if (run.partial && run.progress !== null) parts.push(`${percent(Math.floor(run.progress * 1000) / 1000, 1)} done`);
  parts.push(`took ${took(run.runtime_seconds)}`);
  if (run.message) parts.push(isolated(run.message));
  return parts;
}

/** The parameters of the run, the first ones where there are many. */
export function paramsWords(config: RunConfig | null): string {
  const all = Object.entries(config?.strategy_params ?? {}), most = 6;
  const text = all.slice(0, most).map(([name, value]) => isolated(`${name} ${typeof value === "string" ? value : JSON.stringify(value)}`)).join(", ");
  return all.length > most ? `${text} and ${all.length - most} more` : text;
}

function symbols(list: string[]): string {
  return list.length > 3 ? `${list.slice(0, 2).join(", ")} and ${list.length - 2} more` : list.join(", ");
}

function windowWords(config: RunConfig): string {
  const { start, end, candles } = config.window;
  return `${time(start)} to ${time(end)} UTC, ${count(candles)} candles`;
}

/** Seconds with decimals while they are few. */
export function took(seconds: number): string {
  return seconds < 10 ? `${seconds.toFixed(2)} s` : duration(seconds);
}

/** The newest candle of a run and its age; simulated: by a clock of the venue's own, came being when it arrived here, if that is known. */
export function candleWords({ simulated_time: closed }: Status, simulated: boolean, came: number | null, now: number): string {
  if (!closed) return "no candle yet";
  if (!simulated) return `last candle closed ${time(closed)} UTC, ${ageWords(Date.parse(closed), now)}`;
  return `last candle closed ${time(closed)} UTC by the venue's clock${came === null ? "" : `, came ${ageWords(came, now)}`}`;
}

/** How long ago a moment is: 4 s ago. */
export function ageWords(moment: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - moment) / 1000));
  return seconds < 60 ? `${seconds} s ago` : `${duration(seconds)} ago`;
}

/** What a stop does to open orders and positions. */
export function stopEffect(onStop: string, live: boolean): string {
  const venue = live ? "" : " All of it happens on the simulated venue.";
  switch (onStop) {
    case "flatten":
      return "No further order is sent, open orders are cancelled and positions are closed at market." + venue;
    case "leave":
      return "No further order is sent and entries are cancelled. Positions stay open, with the exits that protect them." + venue;
    case "cancel":
      return "No further order is sent and open orders are cancelled. Positions stay open." + venue;
    default:
      return "No further order is sent. What happens to open orders and positions is not known: the service has not said." + venue;
  }
}

const journalNames: Record<string, string> = { open_orders: "Open orders", unknown_orders: "Orders that the venue may or may not have", positions: "Positions" };

/** What an interrupted run's journal knows, by name. */
export function journalWords(data: Readonly<Record<string, unknown>>): [name: string, text: string][] {
  return Object.entries(data).map(([key, value]) => [journalNames[key] ?? words(key), listed(value)]);
}

function listed(value: unknown): string {
  if (value === null || value === undefined || value === "") return "none";
  if (typeof value !== "object") return String(value);
  const deep = (v: unknown) => (typeof v === "object" && v !== null ? JSON.stringify(v) : String(v));
  const parts = Array.isArray(value) ? value.map(deep) : Object.entries(value).map(([key, v]) => `${key} ${deep(v)}`);
  return parts.join(", ") || "none";
}
