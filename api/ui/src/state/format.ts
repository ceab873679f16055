// Numbers and times as text. Everything is UTC; fractions become percents here and
// nowhere else. A value that is missing is "n/a", never 0.
export const missing = "n/a";
const minus = "\u2212";

function fixed(value: number, digits: number): string {
  const text = Math.abs(value).toFixed(digits);
  const [whole = "", rest] = text.split(".");
  return whole.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f") + (rest ? "." + rest : "");
}

const known = (v: number | null | undefined): v is number => typeof v === "number" && Number.isFinite(v);

/** Money: 14 617.56. */
export const money = (value: number | null | undefined, decimals = 2): string => ratio(value, decimals);

/** Money with its sign, also when positive: +118.52. */
export function signedMoney(value: number | null | undefined, decimals = 2): string {
  if (!known(value)) return missing;
  return sign(Number(value.toFixed(decimals))) + fixed(value, decimals);
}

/** Decimals of the money of a run that began with so much: cents, more when all of it is small. */
export function decimalsOf(cash: number): number {
  return cash > 0 ? Math.min(12, Math.max(2, 4 - Math.floor(Math.log10(Number(cash.toPrecision(9)))))) : 2;
}

/** Money of a single row: two decimals, more below 1 so that a small amount does not read 0.00. */
export function amount(value: number | null | undefined): string {
  if (!known(value)) return missing;
  return (value < 0 ? minus : "") + fixed(value, cents(value));
}

export function signedAmount(value: number | null | undefined): string {
  return known(value) ? sign(value) + fixed(value, cents(value)) : missing;
}

/** Decimals that show two digits of a value below 1. */
function cents(value: number): number {
  return value === 0 ? 2 : Math.min(12, Math.max(2, 1 - Math.floor(Math.log10(Math.abs(Number(value.toPrecision(2)))))));
}

/** A fraction as a percent: 0.0123 is 1.23 %. */
export function percent(value: number | null | undefined, digits = 2): string {
  if (!known(value)) return missing;
  return (Number((value * 100).toFixed(digits)) < 0 ? minus : "") + fixed(value * 100, digits) + "\u202f%";
}

export function signedPercent(value: number | null | undefined, digits = 2): string {
  if (!known(value)) return missing;
  return sign(Number((value * 100).toFixed(digits))) + fixed(value * 100, digits) + "\u202f%";
}

/** A plain number with a fixed count of decimals. */
export function ratio(value: number | null | undefined, digits = 2): string {
  if (!known(value)) return missing;
  return (Number(value.toFixed(digits)) < 0 ? minus : "") + fixed(value, digits);
}

export function count(value: number | null | undefined): string {
  return known(value) ? (value < 0 ? minus : "") + fixed(value, 0) : missing;
}

/** A price or quantity, grouped: its decimals up to ten significant digits, or fewer; digits before the point are never rounded away. */
export function exact(value: number | null | undefined, significant = 10): string {
  if (!known(value)) return missing;
  const rounded = Math.abs(value) >= 10 ** significant ? Math.round(value) : Number(value.toPrecision(significant));
  const [digits = "", power = "0"] = String(Math.abs(rounded)).split("e");
  const decimals = Math.max(0, (digits.split(".")[1]?.length ?? 0) - Number(power));
  return (value < 0 ? minus : "") + fixed(rounded, Math.min(decimals, 20));
}

export function signedExact(value: number | null | undefined, significant = 10): string {
  return known(value) && value > 0 ? "+" + exact(value, significant) : exact(value, significant);
}

function sign(value: number): string {
  return value > 0 ? "+" : value < 0 ? minus : "";
}

/** up, down or neither: the class of a signed value. */
export function tone(value: number | null | undefined): "up" | "down" | "" {
  return !known(value) || value === 0 ? "" : value > 0 ? "up" : "down";
}

/** 2024-03-05 14:00, without seconds when they are 0. The caption says UTC. */
export function time(value: string | number | null | undefined): string {
  if (value === null || value === undefined || value === "") return missing;
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return missing;
  const text = date.toISOString();
  const seconds = text.slice(16, 23);
  return text.slice(0, 10) + " " + text.slice(11, 16) + (seconds === ":00.000" ? "" : seconds.replace(".000", ""));
}

/** Seconds as 00:02, 1:02:03 or 2 d 01:02:03. */
export function duration(seconds: number | null | undefined): string {
  if (!known(seconds) || seconds < 0) return missing;
  const all = Math.round(seconds);
  const two = (n: number) => String(n).padStart(2, "0");
  const days = Math.floor(all / 86400), hours = Math.floor(all / 3600) % 24, minutes = Math.floor(all / 60) % 60;
  if (days) return hours ? `${count(days)} d ${hours} h` : `${count(days)} d`;
  return (hours ? hours + ":" : "") + `${two(minutes)}:${two(all % 60)}`;
}

/** svc_01jd2q7z9v8k3m6t4r1x5c0wbn as svc_01jd2q…: the whole is in the title and the clipboard. */
export function shortId(id: string, keep = 10): string {
  return id.length > keep + 1 ? id.slice(0, keep) + "…" : id;
}

/** snake_case as words. */
export function words(name: string): string {
  const text = name.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
