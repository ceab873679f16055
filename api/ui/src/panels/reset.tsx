// Resetting the ended run. An interrupted run is named first, with what is known of it.
import * as session from "../state/session.ts";
import { ended, resetOnly } from "../state/store.ts";
import { confirm } from "./confirm.tsx";
import { Interrupted } from "./interrupted.tsx";
import { stopProblem } from "./stop.ts";

/** Whether a reset of the ended run may go ahead: asks when the run was interrupted. */
export async function mayReset(): Promise<boolean> {
  if (!resetOnly.value) return true;
  return confirm({ title: "Reset the interrupted run?", body: <Interrupted />, action: "Reset", danger: true });
}

/** The key r. */
export async function askReset(): Promise<void> {
  if (!ended.value || !(await mayReset())) return;
  try {
    await session.reset();
  } catch (e) {
    stopProblem.value = e as Error;
  }
}
