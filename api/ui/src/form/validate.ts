// What is typed -> a JSON value and what is wrong with it. Bounds and types are those
// that the service checks; where the two could differ the finding is not certain and
// does not keep anybody from starting.
import { dictionary } from "./schema.ts";
import type { Bounds, Field, Json, Scalar } from "./schema.ts";
import type { Raw } from "./draft.ts";

export interface Problem {
  message: string;
  /** The service would refuse it, too. */
  certain: boolean;
}

/** value undefined: nothing is sent. */
export interface Reading {
  value?: Json;
  problem?: Problem;
}

const wrong = (message: string): Reading => ({ problem: { message, certain: true } });
const maxExact = 2 ** 53;
const counted = (n: number, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`;

/** What a field shows before anybody touches it. */
export function untouched(field: Field): string | string[] {
  return field.initial === undefined ? (field.kind === "array" ? [] : "") : toRaw(field, field.initial);
}

/** A JSON value as the field shows it. */
export function toRaw(field: Field, value: Json): string | string[] {
  switch (field.kind) {
    case "array":
      return Array.isArray(value) ? value.map((v) => asText(field.items?.kind === "enum", v)) : [];
    case "enum":
      return JSON.stringify(value);
    case "json":
      return JSON.stringify(value, null, 2);
    default:
      return asText(false, value);
  }
}

const asText = (quoted: boolean, value: Json) => (typeof value === "string" && !quoted ? value : JSON.stringify(value));

/** Reads a field. blank: an untouched field sends nothing instead of its default. */
export function read(field: Field, raw: Raw, blank = false): Reading {
  if (raw === "" && field.kind === "string" && !blank) return emptied(field);
  const now = raw ?? (blank ? (field.kind === "array" ? [] : "") : untouched(field));
  const reading = Array.isArray(now) ? readList(field, now) : readText(field, now);
  const absent = reading.value === undefined && !reading.problem;
  if (!absent || !field.required || field.initial !== undefined) return reading;
  return field.kind === "boolean" ? { value: false } : wrong("is required");
}

/** A text that was emptied is an empty text: leaving it out would bring the default back. */
function emptied(field: Field): Reading {
  const reading = { value: "", ...checkText(field, "") };
  return reading.problem || !field.required || field.initial !== undefined ? reading : { ...reading, problem: { message: "is empty", certain: false } };
}

function readText(field: Field, text: string): Reading {
  if (field.kind === "string" ? text === "" : text.trim() === "") return {};
  switch (field.kind) {
    case "integer": case "number":
      return readNumber(field, text.trim());
    case "boolean":
      return text === "true" || text === "false" ? { value: text === "true" } : wrong("choose yes or no");
    case "enum":
      return readOption(field.options ?? [], text);
    case "json":
      return readJson(field, text);
    case "string":
      return { value: text, ...checkText(field, text) };
    default:
      return {};
  }
}

function readNumber(field: Field, text: string): Reading {
  if (!/^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(text)) {
    return wrong(/^[+-]?[\d.\s]*,[\d,\s]*$/.test(text) ? "is not a number: write 0.5, without other separators" : "is not a number");
  }
  const n = Number(text);
  if (!Number.isFinite(n)) return wrong("is too large");
  if (field.kind === "integer" && !Number.isInteger(n)) return wrong("must be a whole number");
  if (field.kind === "integer" && Math.abs(n) >= maxExact) return wrong("has more digits than a number keeps: stay below 2^53");
  const value = Object.is(n, -0) ? 0 : n;
  const message = outside(field, value);
  return message ? { value, problem: { message, certain: true } } : { value };
}

/** What is wrong with a number's size; "" if nothing is. */
export function outside(b: Bounds, n: number): string {
  if (b.minimum !== undefined && n < b.minimum) return `must be at least ${b.minimum}`;
  if (b.exclusiveMinimum !== undefined && n <= b.exclusiveMinimum) return `must be more than ${b.exclusiveMinimum}`;
  if (b.maximum !== undefined && n > b.maximum) return `must be at most ${b.maximum}`;
  if (b.exclusiveMaximum !== undefined && n >= b.exclusiveMaximum) return `must be less than ${b.exclusiveMaximum}`;
  if (b.multipleOf !== undefined && !multiple(n, b.multipleOf)) return `must be a multiple of ${b.multipleOf}`;
  return "";
}

/** Generous by the rounding of binary fractions: 0.3 is a multiple of 0.1. */
function multiple(n: number, step: number): boolean {
  const q = n / step;
  return !Number.isFinite(q) || Math.abs(q - Math.round(q)) <= 1e-9 * Math.max(1, Math.abs(q));
}

function readOption(options: Scalar[], text: string): Reading {
  const at = options.findIndex((o) => JSON.stringify(o) === text);
  return at < 0 ? wrong("is not one of the choices") : { value: options[at] as Scalar };
}

function readJson(field: Field, text: string): Reading {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (e) {
    return wrong("is not JSON: " + (e as Error).message);
  }
  if (field.rest && (typeof value !== "object" || value === null || Array.isArray(value))) return wrong('must be a JSON object: {"name": value}');
  return { value };
}

function checkText(b: Bounds, text: string): Reading {
  const length = [...text].length;
  if (b.minLength !== undefined && length < b.minLength) return wrong(`needs at least ${counted(b.minLength, "character")}`);
  if (b.maxLength !== undefined && length > b.maxLength) return wrong(`has ${counted(length, "character")}, at most ${b.maxLength}`);
  if (b.pattern !== undefined && mismatch(b.pattern, text)) return { problem: { message: `does not seem to match ${b.pattern}`, certain: false } };
  return {};
}

/** Whether a text surely breaks a pattern. The service's dialect is another one, and a
 *  pattern may take for ever: what is odd, long or nested is left to the service. */
export function mismatch(pattern: string, text: string): boolean {
  const unbounded = pattern.match(/[*+]|\{\d+,\}/g)?.length ?? 0;
  if (pattern.length > 200 || text.length > 200 || unbounded > 3 || /\)[*+?{]|\\[1-9k]|\(\?/.test(pattern)) return false;
  try {
    return !new RegExp(pattern, "u").test(text);
  } catch {
    return false;
  }
}

function readList(field: Field, items: string[]): Reading {
  const item = field.items;
  if (!item || (!items.length && !field.required && untouched(field).length === 0)) return {};
  const value: Json[] = [];
  for (const [i, text] of items.entries()) {
    const one = item.kind === "string" ? { value: text, ...checkText(item, text) } : readText(item, text);
    if (one.problem) return { problem: { ...one.problem, message: `item ${i + 1} ${one.problem.message}` } };
    value.push(one.value as Json);
  }
  return { value, ...checkCount(field, value) };
}

function checkCount(field: Field, value: Json[]): Reading {
  if (field.minItems !== undefined && value.length < field.minItems) return wrong(`needs at least ${counted(field.minItems, "item")}`);
  if (field.maxItems !== undefined && value.length > field.maxItems) return wrong(`has ${counted(value.length, "item")}, at most ${field.maxItems}`);
  const seen = new Set(value.map((v) => JSON.stringify(v)));
  return field.uniqueItems && seen.size < value.length ? wrong("has an item twice") : {};
}

/** A whole object: its value and the problems by field name; the rest field's key is "". */
export interface ObjectReading {
  value: { [key: string]: Json };
  problems: Map<Field, Problem>;
}

export function readAll(fields: Field[], raw: (field: Field) => Raw, blank = false): ObjectReading {
  const value = dictionary([]);
  const problems = new Map<Field, Problem>();
  for (const field of fields) {
    const one = read(field, raw(field), blank);
    if (one.problem) problems.set(field, one.problem);
    if (one.value === undefined) continue;
    if (field.rest) for (const [k, v] of Object.entries(one.value as { [key: string]: Json })) value[k] ??= v;
    else value[field.name] = one.value;
  }
  return { value, problems };
}
