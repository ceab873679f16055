// Times as a person types them: UTC unless an offset is given, a blank or a T before
// the clock, as precise as wanted.
const spelling = /^(\d{4}-\d{2}-\d{2})(?:[T ]+(\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/i;

export interface Moment {
  /** As the service reads it. */
  text: string;
  ms: number;
}

/** null: no time. */
export function moment(typed: string): Moment | null {
  const part = spelling.exec(typed.trim());
  if (!part) return null;
  const [, day = "", clock = "00:00", offset = "Z"] = part;
  const midnight = Date.parse(day + "T00:00Z");
  // 2024-02-30 must not become 1 March.
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== day || !/^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d|$)/.test(clock)) return null;
  const ms = Date.parse(day + "T" + clock + offset.toUpperCase());
  return Number.isNaN(ms) ? null : { text: part[2] ? day + "T" + clock + offset.toUpperCase() : day, ms };
}

/** A time of the service as it stands in an input: 2024-01-31, or 2024-01-31 04:00. */
export function typed(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const text = at.toISOString();
  if (text.endsWith("T00:00:00.000Z")) return text.slice(0, 10);
  return text.slice(0, 10) + " " + text.slice(11, -1).replace(/(:00)?\.000$/, "");
}
