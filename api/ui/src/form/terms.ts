// The parameters of a run in words, for the person who is about to confirm it.
import type { Field, Json } from "./schema.ts";
import type { ObjectReading } from "./validate.ts";

export interface Term {
  name: string;
  text: string;
}

/** Everything that is sent, fields under their titles; what is secret stays hidden. */
export function terms(fields: readonly Field[], { value }: ObjectReading, quote: string): Term[] {
  const out: Term[] = [], named = new Set<string>();
  for (const f of fields) {
    named.add(f.name);
    const sent = f.rest ? undefined : value[f.name];
    if (sent === undefined) continue;
    const unit = f.unit === "quote" ? quote || f.unit : f.unit;
    out.push({ name: f.title, text: f.secret ? "[hidden]" : [plain(sent), unit].filter(Boolean).join(" ") });
  }
  const hidden = fields.some((f) => f.rest && f.secret);
  for (const [name, sent] of Object.entries(value)) if (!named.has(name)) out.push({ name, text: hidden ? "[hidden]" : plain(sent) });
  return out;
}

const plain = (value: Json): string => (typeof value === "string" && value !== "" ? value : typeof value === "boolean" ? (value ? "yes" : "no") : JSON.stringify(value));
