// Actions whose answer may get lost.
import { ApiError } from "../api/client.ts";
import { backoff } from "../stream/backoff.ts";

/** A lost answer is asked for again so often. */
const repeats = 3;

export const sleep = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

/** Does something until it is answered, well or badly, or its answer was lost for the last time. */
export async function repeated<T>(act: () => Promise<T>, wait: (ms: number) => Promise<void> = sleep): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await act();
    } catch (e) {
      if (failures >= repeats || !(e instanceof ApiError && e.lost)) throw e;
      await wait(backoff(failures, Math.random()));
    }
  }
}

/** A unique key. crypto.randomUUID exists in secure contexts only, and a page behind a plain proxy is none. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}
