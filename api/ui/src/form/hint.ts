// What stands below a field besides its description: what an emptied field means, and
// the default where something else stands in the field.
import { isolated } from "../state/bidi.ts";
import type { Raw } from "./draft.ts";
import type { Field } from "./schema.ts";
import { untouched } from "./validate.ts";

/** raw is what was typed; an untouched field shows its default and needs no hint. */
export function hint(field: Field, raw: Raw): string {
  if (raw === undefined || JSON.stringify(raw) === JSON.stringify(untouched(field))) return "";
  const standard = standardOf(field);
  if (Array.isArray(raw)) return raw.length ? "" : "Sent as an empty list.";
  if (field.kind === "string" && raw === "") return `Sent as an empty text.${standard && ` Default: ${standard}.`}`;
  if (raw.trim() === "" && standard && field.kind !== "string") return `Empty = ${standard}.`;
  return standard && field.kind !== "json" ? `Default: ${standard}.` : "";
}

/** The default as a person reads it; "" if there is none, or none to show. */
function standardOf({ initial, kind, secret }: Field): string {
  if (initial === undefined || initial === "" || secret || kind === "array") return "";
  const text = kind === "json" ? JSON.stringify(initial) : plain(initial);
  return isolated(text.length > longest ? text.slice(0, longest - 1) + "…" : text);
}

const longest = 60;

/** A value as it reads among choices. */
export const choice = (value: unknown) => isolated(plain(value));

function plain(value: unknown): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value === null ? "none" : typeof value === "object" ? JSON.stringify(value) : String(value);
}
