// Which log lines are shown.
import type { LogLine } from "../api/types.ts";

export const levels = ["trace", "debug", "info", "warn", "error"] as const;
export type Level = (typeof levels)[number];

export interface Filter {
  /** The lowest level that is shown. */
  level: Level;
  /** host, plugin, or "" for both. */
  source: string;
}

export const lineLimit = 1000;

export function filtered(lines: LogLine[], { level, source }: Filter): LogLine[] {
  const lowest = levels.indexOf(level);
  return lines.slice(-lineLimit).filter((line) => rank(line.level) >= lowest && (source === "" || line.source === source));
}

// A level that is not known is shown rather than hidden.
function rank(level: string): number {
  const at = levels.indexOf(level.toLowerCase() as Level);
  return at < 0 ? levels.length : at;
}

/** The time of a line, with its day and seconds; "–" without one. */
export function clock(moment: string | null): string {
  return moment ? (moment.slice(0, 10) + " " + moment.slice(11, 23)).replace(".000", "") : "–";
}
