// How long to wait before the next attempt.
const least = 500, most = 15_000;

/** 0.5 s doubled with each failure up to 15 s, of which a random part of up to a half is taken off: many pages must not come back at the same moment. */
export function backoff(failures: number, random: number): number {
  const whole = Math.min(most, least * 2 ** Math.min(failures, 30));
  return Math.max(least, Math.round(whole * (1 - random / 2)));
}
