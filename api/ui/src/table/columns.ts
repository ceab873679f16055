// What a table shows of its rows: one Column for each field, made by its kind.
import * as f from "../state/format.ts";

export type Value = number | string | boolean | null;

export interface Column<R> {
  /** The field's name in the API. */
  key: string;
  label: string;
  /** What the head adds to the label: the time zone, or the quote currency. */
  unit: "UTC" | "quote" | "";
  /** One sentence about it. */
  about: string;
  /** right: numbers. mono: ids and codes. */
  look: "left" | "right" | "mono";
  /** What it is sorted by; null stands last. */
  value(row: R): Value;
  text(row: R): string;
  tone?(row: R): "up" | "down" | "";
  /** What is to be known about this value, "" for nothing. */
  note?(row: R): string;
}

/** What every row has. */
export interface Listed {
  symbol: string;
}

/** A chip: some rows of the table. */
export interface Chip<R> {
  label: string;
  test(row: R): boolean;
}

/** A table: its rows, their columns and what is said about them. */
export interface Spec<R> {
  title: string;
  one: string;
  many: string;
  columns: Column<R>[];
  /** Fields of the CSV file, in the order of the API. */
  fields: readonly (keyof R & string)[];
  id(row: R): string;
  /** From when to when the row happened, ms; rows are in the order of the second. */
  span(row: R): readonly [number, number];
  /** Whether the row may still change in its place. */
  open(row: R): boolean;
  /** What the filter looks at. */
  search(row: R): string;
  chips: Chip<R>[];
  /** Instead of an empty table: during the run, after it. */
  none: { running: string; ended: string };
}

/** What a missing value reads. */
export const dash = "–";

type Reader<R, V> = (row: R) => V;
type Numeric<R> = Reader<R, number | null>;

function column<R>(key: string, label: string, about: string, value: Reader<R, Value>, text: Reader<R, string>, more: Partial<Column<R>> = {}): Column<R> {
  return { key, label, about, unit: "", look: "left", value, text: (row) => (value(row) === null ? dash : text(row)), ...more };
}

/** A time, UTC. */
export function time<R>(key: string, label: string, about: string, value: Reader<R, string | null>): Column<R> {
  return column(key, label, about, value, (row) => f.time(value(row)), { unit: "UTC" });
}

/** A word of a closed set: take_profit reads take profit. */
export function word<R>(key: string, label: string, about: string, value: Reader<R, string>): Column<R> {
  return column(key, label, about, value, (row) => value(row).replaceAll("_", " "));
}

/** The same with a hollow mark, as the chart has it, where it is not sure. */
export function doubted<R>(of: Column<R>, ambiguous: Reader<R, boolean>): Column<R> {
  const note = (row: R) => (ambiguous(row) ? "Ambiguous: the candle leaves open whether it happened this way" : "");
  return { ...of, note, text: (row) => of.text(row) + (ambiguous(row) ? " ○" : "") };
}

/** Free text or a name. */
export function plain<R>(key: string, label: string, about: string, value: Reader<R, string | null>): Column<R> {
  const known = (row: R) => value(row) || null;
  return column(key, label, about, known, (row) => known(row) ?? dash);
}

/** An id or a code. */
export function code<R>(key: string, label: string, about: string, value: Reader<R, string | null>): Column<R> {
  return { ...plain(key, label, about, value), look: "mono" };
}

export function yes<R>(key: string, label: string, about: string, value: Reader<R, boolean>): Column<R> {
  return column(key, label, about, value, (row) => (value(row) ? "yes" : "no"));
}

/** Digits of prices and quantities, and decimals that even a large one keeps; the CSV file has all of them. */
const digits = 8, cents = 2;
const digitsOf = (n: number | null) => Math.max(digits, Math.floor(Math.log10(Math.abs(n || 1))) + 1 + cents);
const exact = (n: number | null) => f.exact(n, digitsOf(n));
const signedExact = (n: number | null) => f.signedExact(n, digitsOf(n));

/** A number of things or of the base currency. */
export function quantity<R>(key: string, label: string, about: string, value: Numeric<R>, show: (n: number | null) => string = exact): Column<R> {
  return column(key, label, about, value, (row) => show(value(row)), { look: "right" });
}

/** A quantity that is negative when short. */
export function holding<R>(key: string, label: string, about: string, value: Numeric<R>): Column<R> {
  return quantity(key, label, about, value, signedExact);
}

/** A price in the quote currency. */
export function price<R>(key: string, label: string, about: string, value: Numeric<R>): Column<R> {
  return { ...quantity(key, label, about, value), unit: "quote" };
}

/** An amount without a sign, such as a fee. */
export function amount<R>(key: string, label: string, about: string, value: Numeric<R>, unit: "quote" | "" = "quote"): Column<R> {
  return { ...quantity(key, label, about, value, f.amount), unit };
}

/** An amount that may go either way. */
export function signed<R>(key: string, label: string, about: string, value: Numeric<R>): Column<R> {
  return { ...quantity(key, label, about, value, f.signedAmount), unit: "quote" };
}

/** A result: signed and coloured. */
export function result<R>(key: string, label: string, about: string, value: Numeric<R>): Column<R> {
  return { ...signed(key, label, about, value), tone: (row) => f.tone(value(row)) };
}

/** The same as a fraction of something. */
export function gain<R>(key: string, label: string, about: string, value: Numeric<R>): Column<R> {
  return { ...quantity(key, label, about, value, f.signedPercent), tone: (row) => f.tone(value(row)) };
}

/** The words of a column's head. */
export function headOf<R>(c: Column<R>, quote: string): string {
  const unit = c.unit === "quote" ? quote : c.unit;
  return unit ? `${c.label}, ${unit}` : c.label;
}
