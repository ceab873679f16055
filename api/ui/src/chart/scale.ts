// How values are written on the axes, and which published lines share the axis of prices.
import type { CandleTuple, LineTuple } from "../api/types.ts";
import { missing, ratio, signedPercent, time } from "../state/format.ts";

const mostDigits = 12;

/** Decimals that a price needs: as many as the data have, as far as the range makes them matter. */
export function priceDigits(candles: readonly CandleTuple[]): number {
  let low = Infinity, high = -Infinity, given = 0;
  const stride = Math.max(1, Math.floor(candles.length / 100));
  candles.forEach((c, i) => {
    low = Math.min(low, c[3]);
    high = Math.max(high, c[2]);
    if (i % stride === 0) given = Math.max(given, decimals(c[1]), decimals(c[2]), decimals(c[3]), decimals(c[4]));
  });
  const span = high > low ? high - low : Math.abs(high);
  return clamp(Math.min(given, needed(span / 1e6)));
}

/** Decimals of money: 2 for everyday sums, more for small ones, none from a million on. */
export function moneyDigits(values: readonly number[]): number {
  let low = Infinity, high = -Infinity;
  for (const v of values) {
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  if (!Number.isFinite(low)) return 2;
  const size = Math.max(Math.abs(low), Math.abs(high));
  const span = high > low ? high - low : size;
  return clamp(Math.max(size < 1e6 ? 2 : 0, needed(span / 1e3)));
}

/** Decimals of any values, by how far they are apart. */
export function valueDigits(values: readonly number[]): number {
  let low = Infinity, high = -Infinity;
  for (const v of values) {
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  if (!Number.isFinite(low)) return 2;
  return clamp(needed((high > low ? high - low : Math.abs(high)) / 1e3));
}

function decimals(value: number): number {
  if (!Number.isFinite(value)) return 0;
  const [digits = "", exponent = "0"] = value.toPrecision(10).replace(/\.?0+(e|$)/, "$1").split("e");
  return Math.max(0, (digits.split(".")[1]?.length ?? 0) - Number(exponent));
}

const needed = (step: number) => (step > 0 ? Math.ceil(-Math.log10(step)) : 0);
const clamp = (digits: number) => Math.min(Math.max(digits, 0), mostDigits);

/** A number on an axis; from a trillion on with an exponent, so that it does not push the plot away. */
export function axisNumber(value: number, digits: number): string {
  return Math.abs(value) >= 1e12 ? value.toExponential(3) : ratio(value, digits);
}

/** The numbers beside an axis: no more decimals than they need to differ. */
export function axisTicks(values: readonly number[], digits: number): string[] {
  let least = 0;
  while (least < digits && values.some((v) => Math.abs(v - Number(v.toFixed(least))) > 10 ** -digits / 10)) least++;
  return values.map((v) => axisNumber(v, least));
}

/** The pane shows drawdown below zero: 0.0123 is −1.23 %. */
export const axisDrawdown = (value: number) => (Number.isFinite(value) ? signedPercent(value) : missing);

/** The moment under the crosshair. */
export const axisTime = (seconds: number) => time(seconds * 1000) + " UTC";

/** A mark of the time axis, by the library's kinds: year, month, day, time, time with seconds. */
export function tickText(seconds: number, kind: number): string {
  const text = new Date(seconds * 1000).toISOString();
  return [text.slice(0, 4), text.slice(0, 7), text.slice(5, 10), text.slice(11, 16), text.slice(11, 19)][kind] ?? text.slice(0, 10);
}

/** Whether a line belongs to the prices: a moving average does, an RSI would flatten the candles. */
export function amongPrices(line: readonly LineTuple[], candles: readonly CandleTuple[]): boolean {
  let low = Infinity, high = -Infinity;
  for (const c of candles) {
    low = Math.min(low, c[3]);
    high = Math.max(high, c[2]);
  }
  [low, high] = low > 0 ? [low / 2, high * 2] : [2 * low - high, 2 * high - low];
  return line.every((p) => p[1] >= low && p[1] <= high);
}

/** How published lines look. Up and down colours are for those that were declared so. */
export interface LineLook {
  token: (typeof tokens)[number] | "up" | "down";
  /** The library's line styles. */
  style: 0 | 1 | 2 | 3 | 4;
  width: 1 | 2;
}

const tokens = ["accent", "warn", "text", "muted"] as const;
/** Solid, dashed, dotted, long dashes, wide dots: as different as they can be, one after another. */
const styles = [0, 2, 1, 3, 4] as const;

/** So many before one comes again. */
export const looks = 2 * tokens.length * styles.length;

export function lookOf(order: number): LineLook {
  const round = Math.floor(order / tokens.length);
  return { token: tokens[order % tokens.length]!, style: styles[round % styles.length]!, width: Math.floor(round / styles.length) % 2 ? 2 : 1 };
}
