// The service's clock, which may differ from this machine's: what it sends is stamped,
// and how old a moment of its own is, is told by that.
let ahead = Date.now() - performance.now();

/** Takes the stamp of what has just arrived, at now by performance.now(). */
export function heardAt(timestamp: string, now: number): void {
  const at = Date.parse(timestamp);
  if (Number.isFinite(at)) ahead = at - now;
}

/** The service's time at a moment of performance.now(), ms since 1970. */
export const serviceTime = (now: number): number => now + ahead;
