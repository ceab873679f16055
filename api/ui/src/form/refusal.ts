// Where on the form the service's answer to a start belongs.
import type { FieldError } from "../api/types.ts";
import { locate, pointer } from "./pointer.ts";

/** What is needed of an ApiError. */
export interface Refused {
  code: string;
  message: string;
  details: Record<string, unknown>;
  fields: FieldError[];
}

/** Messages by field, and those that no field has. */
export interface Landing {
  at: Map<string, string>;
  rest: string[];
}

/** Codes that are about one field although they carry no pointer. */
const subject: Record<string, string> = {
  STRATEGY_NOT_FOUND: "/strategy_name", STRATEGY_UNAVAILABLE: "/strategy_name", EXCHANGE_NOT_FOUND: "/exchange", EXCHANGE_UNAVAILABLE: "/exchange",
  UNSUPPORTED_SYMBOL: "/symbols", UNSUPPORTED_TIMEFRAME: "/timeframe", INVALID_DATE_RANGE: "/start_date", DATA_UNAVAILABLE: "/start_date", MODE_NOT_SUPPORTED: "/mode",
};

export function land(error: Refused, fields: ReadonlySet<string>): Landing {
  const landing: Landing = { at: new Map(), rest: [] };
  for (const e of error.fields) place(landing, e, fields);
  for (const name of missing(error)) place(landing, { pointer: pointer("exchange_config", name), message: "is required for live", rule: "required" }, fields);
  const about = subject[error.code];
  if (!error.fields.length && about && fields.has(about)) add(landing.at, about, error.message);
  return landing;
}

const missing = (e: Refused) => (e.code === "CREDENTIALS_REQUIRED" && Array.isArray(e.details.missing) ? e.details.missing.filter((n) => typeof n === "string") : []);

function place(landing: Landing, e: FieldError, fields: ReadonlySet<string>) {
  const found = locate(e.pointer, fields);
  if (found) add(landing.at, found.field, part(found.within) + e.message);
  else landing.rest.push(`${e.pointer || "the request"}: ${e.message}`);
}

function add(at: Map<string, string>, field: string, message: string) {
  const before = at.get(field);
  at.set(field, before ? `${before}; ${message}` : message);
}

/** The third of a list, or the key inside a JSON text. */
function part(within: string[]): string {
  const [first] = within;
  if (first === undefined) return "";
  return within.length === 1 && /^\d+$/.test(first) ? `item ${Number(first) + 1}: ` : pointer(...within) + ": ";
}
