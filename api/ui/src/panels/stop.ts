// Stopping the run: at once in a backtest, after a question in paper and live.
import { computed, signal } from "@preact/signals";
import { ApiError } from "../api/client.ts";
import * as session from "../state/session.ts";
import { running, status } from "../state/store.ts";
import { dialog } from "../state/view.ts";

const asking = signal(false);

/** Whether a stop has been asked for and the run goes on. */
export const stopping = computed(() => running.value && (asking.value || status.value.phase === "stopping"));
/** Why the last stop or reset was refused. */
export const stopProblem = signal<Error | null>(null);

/** The Stop button and the key s. */
export function askStop() {
  if (!running.value || stopping.value) return;
  if (status.value.mode === "backtest") void stopNow();
  else dialog.value = "stop";
}

export async function stopNow(positions: session.Positions | "" = "") {
  if (stopping.value) return;
  asking.value = true;
  stopProblem.value = null;
  try {
    await session.stop(positions);
  } catch (e) {
    // The run ended by itself in the meantime: that is what was wanted.
    if (!(e instanceof ApiError && e.code === "RUN_NOT_ACTIVE")) stopProblem.value = e as Error;
  } finally {
    asking.value = false;
  }
}
