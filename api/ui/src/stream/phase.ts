// How the page stands with the service: one table of what follows what.
import type { Connection } from "../state/store.ts";

export interface Phase {
  state: Connection["state"];
  /** Attempts in a row that got no lasting stream from a service that answers. */
  refused: number;
  /** Attempts in a row that failed for whatever reason; the back-off counts them. */
  failures: number;
}

/**
 * snapshot: the stream works. steady: it has worked for a while. lost: it ended or did
 * not begin. refused: after that the service answered over HTTP, so it is the stream
 * that is blocked. broke: the same after a stream that had worked. heard: the service
 * answers again. silent: it does not answer at all.
 */
export type Event = "snapshot" | "steady" | "lost" | "refused" | "broke" | "heard" | "silent";

export const begin: Phase = { state: "connecting", refused: 0, failures: 0 };

/** So many refusals in a row and the page goes over to asking. */
const enough = 3;

export function next(phase: Phase, event: Event): Phase {
  switch (event) {
    case "snapshot":
      return { ...phase, state: "live" };
    case "steady":
      return { ...phase, refused: 0, failures: 0 };
    case "lost":
      return { ...phase, state: phase.state === "live" ? "reconnecting" : phase.state, failures: phase.failures + 1 };
    case "refused":
      return answered({ ...phase, refused: phase.refused + 1 });
    case "broke":
    case "heard":
      return answered(phase);
    case "silent":
      return { ...phase, state: "down", failures: phase.state === "down" ? phase.failures + 1 : 1 };
  }
}

function answered(phase: Phase): Phase {
  if (phase.state === "live") return phase;
  const back = phase.state === "down";
  if (phase.refused >= enough) return { ...phase, state: "polling" };
  return back ? { ...phase, state: "reconnecting", failures: 0 } : phase;
}
