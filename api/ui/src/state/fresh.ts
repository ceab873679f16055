// How current what is shown is.
import { computed, effect, signal } from "@preact/signals";
import { time } from "./format.ts";
import { asOf, connection, ended, results, running, status, type Connection } from "./store.ts";

/** Older numbers are grey. */
const limit = 5000;

export interface Freshness {
  /** Nothing came for too long. */
  stale: boolean;
  /** The status has been asked for since, but the rest is as old as the stream's last word. */
  dated: boolean;
}

/** final: all of it is in /results, which do not age. */
export function freshness(link: Connection, isRunning: boolean, final: boolean, now: number): Freshness {
  const old = (at: number) => at > 0 && now - at >= limit;
  const asks = link.state === "polling" || now - link.lastFrame >= limit;
  return {
    stale: old(link.lastData) && (link.state !== "live" || isRunning),
    dated: !final && link.lastData > link.lastFrame && asks,
  };
}

/** Whether all numbers are too old. */
export const stale = signal(false);
const behind = signal(false);
/** Whether what is not in /status is older than the status. */
export const dated = computed(() => behind.value && status.value.run_id !== "");
/** Whether the last known is not what is: the service does not answer. */
export const lastKnown = computed(() => stale.value || connection.value.state === "down");
/** When the stream last said something of this run; "" if it never did. */
export const heardText = computed(() => asOf.value && time(asOf.value.slice(0, 19) + "Z") + " UTC");
/** The same while what is not in /status is dated, else "". */
export const datedAt = computed(() => (dated.value ? heardText.value : ""));
/** Whether a run has ended whose results are still to come. */
export const awaiting = computed(() => ended.value && results.value === null);

/** Keeps them up to date; the returned function ends it. One timer, not a clock. */
export function watchFreshness(): () => void {
  return effect(() => {
    const link = connection.value, isRunning = running.value, final = results.value !== null;
    let timer = 0;
    const look = () => {
      const now = performance.now(), is = freshness(link, isRunning, final, now);
      stale.value = is.stale;
      behind.value = is.dated;
      const left = [link.lastData, link.lastFrame].map((at) => at + limit - now).filter((ms) => ms > 0);
      if (left.length > 0) timer = setTimeout(look, Math.min(...left) + 1);
    };
    look();
    return () => clearTimeout(timer);
  });
}
