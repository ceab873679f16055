// The messages of the stream as they come, before anybody believes them.

export interface Frame {
  type: string;
  payload: Record<string, unknown>;
  timestamp: string;
  seq: number;
}

/** Frames for this client alone: they carry the seq of the newest broadcast instead of one of their own. */
const replies = new Set(["series_result", "rows_result", "run_result", "error"]);

export const isReply = (frame: Frame): boolean => replies.has(frame.type);

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads a message; null if it is no frame of this protocol. */
export function parse(text: unknown): Frame | null {
  if (typeof text !== "string") return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(value)) return null;
  const { type, payload, timestamp, seq } = value;
  if (typeof type !== "string" || !isObject(payload) || !Number.isSafeInteger(seq) || (seq as number) < 0) return null;
  return { type, payload, timestamp: typeof timestamp === "string" ? timestamp : "", seq: seq as number };
}
