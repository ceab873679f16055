// The last form as it is remembered between visits. What comes back from storage was
// perhaps written by another version, or by hand: everything is checked.
import type { Raw } from "./draft.ts";

export interface Stored {
  strategy: string;
  symbols: string[];
  timeframe: string;
  exchange: string;
  start: string;
  end: string;
  cash: string;
  /** Touched fields by strategy and name. */
  params: Record<string, Record<string, Raw>>;
  execution: Record<string, Raw>;
}

const texts = ["strategy", "timeframe", "exchange", "start", "end", "cash"] as const;
/** Longer texts are not remembered: the storage of a browser is small. */
const longest = 20_000;

/** null: nothing usable is stored. */
export function parse(json: string | null): Partial<Stored> | null {
  const from = object(decode(json));
  if (!from) return null;
  const out: Partial<Stored> = {};
  for (const key of texts) if (isText(from[key])) out[key] = from[key];
  if (Array.isArray(from.symbols)) out.symbols = from.symbols.filter(isText).slice(0, 256);
  out.execution = fields(from.execution);
  out.params = {};
  for (const [name, of] of Object.entries(object(from.params) ?? {})) out.params[name] = fields(of);
  return out;
}

/** Touched fields only; what is too long is left out. */
export function fields(from: unknown): Record<string, Raw> {
  const entries = Object.entries(object(from) ?? {}).filter(([, v]) => isText(v) || (Array.isArray(v) && v.length <= 1000 && v.every(isText)));
  return Object.fromEntries(entries) as Record<string, Raw>;
}

function decode(json: string | null): unknown {
  try {
    return json === null ? null : JSON.parse(json);
  } catch {
    return null;
  }
}

const isText = (v: unknown): v is string => typeof v === "string" && v.length <= longest;
const object = (v: unknown) => (typeof v === "object" && v !== null && !Array.isArray(v) ? (v as Record<string, unknown>) : null);
