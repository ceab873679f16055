// The options of an import: what each is called, and which of them answers a refusal.
import type { ImportOptions, Job } from "../shapes.ts";

export interface Option {
  name: Exclude<keyof ImportOptions, "merge">;
  label: string;
  /** What it may be, with words for people; without it is text. */
  choices?: readonly (readonly [value: string, words: string])[];
  help?: string;
  /** Seldom needed before it is asked for. */
  rare?: boolean;
}

export const options: readonly Option[] = [
  { name: "exchange", label: "Exchange", help: "Where the candles come from, a lower-case name: binance" },
  { name: "symbol", label: "Symbol", help: "BASE/QUOTE; empty: as the file says" },
  { name: "timeframe", label: "Timeframe", help: "Length of a candle, like 1h; empty: as the file says, else the commonest step" },
  { name: "profile", label: "Format", help: "Empty: recognised", rare: true },
  { name: "columns", label: "Columns", help: "By position, like time,open,high,low,close,volume", rare: true },
  { name: "ticker", label: "Ticker", help: "Of a file with several the rows of this one", rare: true },
  { name: "tz", label: "Time zone", help: "Of times without offset: UTC, or like America/New_York", rare: true },
  { name: "stamp", label: "Times say when a candle", choices: [["", "opens, as usual"], ["open", "opens"], ["close", "closes"]], rare: true },
  { name: "date_order", label: "Order of dates", choices: [["", "as a part above 12 shows"], ["mdy", "month/day/year"], ["dmy", "day/month/year"]], rare: true },
  { name: "ohlc_violations", label: "Candles whose high or low does not enclose open and close", choices: [["", "refuse"], ["widen", "widen high and low"], ["drop", "leave out"], ["keep", "keep, and mark every run"]], rare: true },
  { name: "duplicates", label: "Different candles of one time", choices: [["", "refuse"], ["first", "take the first, or the stored one"], ["last", "take the last, or the new one"]], rare: true },
  { name: "calendar", label: "Days with candles", choices: [["", "as found"], ["24x7", "every day"], ["weekdays", "weekdays"]], rare: true },
  { name: "volume_unit", label: "Volume counts", choices: [["", "as the format has it"], ["base", "base currency"], ["quote", "quote currency"], ["contracts", "contracts"], ["ticks", "ticks"]], rare: true },
];

export interface Question {
  code: string;
  message: string;
  /** What answers it; nothing where only another file does. */
  option: Option | undefined;
  cases: { file: string; line: number; text: string }[];
}

/** What a job asks that was refused; null where it has failed otherwise. */
export function questionOf({ status, error }: Job): Question | null {
  const details = error?.details as { flag?: unknown; cases?: unknown } | null | undefined;
  if (status !== "failed" || !error || typeof details?.flag !== "string") return null;
  const name = details.flag.replace(/^--/, "").replaceAll("-", "_");
  return { code: error.code, message: error.message, option: options.find((o) => o.name === name), cases: Array.isArray(details.cases) ? (details.cases as Question["cases"]) : [] };
}

/** What the name of a file says, as freqtrade writes it: BTC_USDT-1h.feather. */
export function saidBy(name: string): Partial<ImportOptions> {
  const m = /^([A-Za-z0-9]+)_([A-Za-z0-9]+)-([1-9]\d{0,3}(?:[smhdwM]|Mo))\./.exec(name);
  return m ? { symbol: `${m[1]}/${m[2]}`, timeframe: m[3]?.replace("Mo", "M") } : {};
}

/** The options that were given. */
export function given(form: Record<string, string>, merge: boolean): ImportOptions {
  const out: Partial<ImportOptions> = { merge };
  for (const { name } of options) {
    const value = form[name]?.trim();
    if (value) Object.assign(out, { [name]: value });
  }
  return out as ImportOptions;
}
