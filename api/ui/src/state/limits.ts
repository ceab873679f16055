// Risk limits in words. The service names them as its options and gives bare numbers:
// what a number counts follows from the name.
import { exact, words } from "./format.ts";

/** "%" and "$" at the front: the number is a fraction, or money. */
const counts: Readonly<Record<string, string>> = {
  "max-order-notional": "$ per order", "max-position-notional": "$ per symbol", "max-daily-loss-amount": "$", "max-order-fraction": "% of the start equity per order", "max-position-fraction": "% of the equity per symbol",
  "max-gross-fraction": "% of the equity", "price-collar": "% from the last close", "max-candle-age": "timeframes", "orders-per-second": "orders per symbol",
  burst: "orders per symbol", "orders-per-minute": "orders per symbol", "duplicates-per-candle": "equal orders", "fills-per-hour": "filled orders per symbol",
  "max-rejects": "in a row", "max-daily-loss": "% of the equity at 00:00 UTC", "max-drawdown": "% of the peak", "stale-candles": "timeframes",
};
/** What the names of other limits end with. */
const endings: readonly [RegExp, string][] = [[/-(notional|value|capital)$/, "$"], [/-(fraction|loss|drawdown)$/, "%"], [/-bps$/, "bps"]];

/** What can be lost comes first, then how large anything may be; how fast and how often come after. */
const first = ["max-daily", "max-drawdown", "max-order", "max-position", "max-gross"];
/** -1, of all others, is made the last place. */
const place = (option: string) => first.findIndex((name) => option.startsWith(name)) >>> 0;

export interface Limit {
  /** As the service names it. */
  key: string;
  name: string;
  text: string;
}

/** The limits with their units; quote is the currency of the run, "" if it is not known. */
export function limits(risk: Readonly<Record<string, unknown>> | null | undefined, quote: string): Limit[] {
  const ordered = Object.entries(risk ?? {}).map(([key, value]) => [key, value, key.replaceAll("_", "-")] as const).sort((a, b) => place(a[2]) - place(b[2]));
  return ordered.map(([key, value, option]) => {
    const unit = (Object.hasOwn(counts, option) && counts[option]) || (endings.find(([end]) => end.test(option))?.[1] ?? "");
    return { key, name: words(option.replaceAll("-", "_")), text: text(value, unit, quote || "of the quote currency") };
  });
}

function text(value: unknown, unit: string, quote: string): string {
  if (value === null || value === undefined) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  const n = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof value === "object" && !Array.isArray(value)) return parts(value as Record<string, unknown>, unit, quote);
  if (typeof n !== "number" || !Number.isFinite(n)) return typeof value === "string" ? value : JSON.stringify(value);
  if (unit.startsWith("%")) return exact(n * 100) + "\u202f" + unit;
  const of = unit.replace("$", quote);
  return `${exact(n)} ${n === 1 ? of.replace(/(order|timeframe)s/, "$1") : of}`.trim();
}

/** A limit of several steps: "3 in a row, 5 in 10 minutes", "reducing after 3 timeframes". */
function parts(value: Record<string, unknown>, unit: string, quote: string): string {
  return Object.entries(value).map(([name, v]) => {
    const said = words(name).toLowerCase().replace(/^in row$/, "in a row");
    return said.startsWith("in ") ? `${text(v, "", quote)} ${said}` : `${said} after ${text(v, unit, quote)}`;
  }).join(", ");
}

/** Whether a code is that of a limit, among the codes of alarms. */
export const isLimit = (code: string): boolean => /_EXCEEDED$|^STATE_|^(PRICE_OUTSIDE_COLLAR|CANDLE_STALE|CANDLES_MISSING|ORDER_DUPLICATE|RISK_KILL)$/.test(code);
