// Another run stands in the way of the start: which one, and what can be done about it
// without leaving the form.
import type { ApiError } from "../api/client.ts";
import { confirm } from "../panels/confirm.tsx";
import { Problem } from "../panels/problem.tsx";
import { mayReset } from "../panels/reset.tsx";
import { askStop } from "../panels/stop.ts";
import * as session from "../state/session.ts";
import { config, running, status } from "../state/store.ts";
import { asApiError, submit } from "./actions.ts";
import { conflict, sending } from "./outcome.ts";

export function Conflict() {
  const c = conflict.value;
  if (!c) return null;
  const now = status.value, newer = now !== c.seen;
  const run = newer ? { id: now.run_id, mode: now.mode, status: now.status, phase: now.phase } : { id: c.runId, mode: c.mode, status: c.status, phase: "" };
  const known = config.value && now.run_id === run.id ? config.value : null;
  if (run.status === "idle") {
    return (
      <>
        <p><strong>The other run is gone.</strong></p>
        <div class="buttons"><button type="button" onClick={() => void submit()}>Try again</button></div>
      </>
    );
  }
  return (
    <>
      <p><strong>{c.failure ? <Problem error={c.failure} /> : run.status === "running" ? c.message : "The service still holds another run."}</strong></p>
      <dl class="terms">
        <div><dt>Run</dt><dd class="mono">{run.id}</dd></div>
        <div><dt>Mode</dt><dd>{run.mode || "not known"}</dd></div>
        {known && <div><dt>Strategy</dt><dd><bdi>{known.strategy_name}</bdi> on {known.symbols.join(", ")} {known.timeframe}</dd></div>}
        <div><dt>Status</dt><dd>{run.status}{run.phase && `, ${run.phase}`}</dd></div>
      </dl>
      <div class="buttons">
        {run.status === "running"
          ? <button type="button" aria-disabled={sending.value ? "true" : undefined} onClick={() => void stop(run.mode)}>Stop it</button>
          : (
            <>
              <button type="button" aria-disabled={sending.value ? "true" : undefined} onClick={() => void submit(run.id)}>Replace it</button>
              <button type="button" aria-disabled={sending.value ? "true" : undefined} onClick={() => void reset()}>Reset it</button>
            </>
          )}
      </div>
    </>
  );
}

/** The header's way to stop where the page knows the run; else by what the refusal said of it. */
async function stop(mode: string) {
  if (running.value) return askStop();
  const body = "This page has no details of the run: its orders and positions are treated as the service is configured to.";
  if (mode !== "backtest" && !(await confirm({ title: `Stop the ${mode} run?`, body, action: "Stop it", danger: true }))) return;
  await change("completed", session.stop);
}

async function reset() {
  if (await mayReset()) await change("idle", session.reset);
}

async function change(to: string, act: () => Promise<{ status: string }>) {
  if (sending.value) return;
  sending.value = true;
  try {
    const answer = await act();
    update({ status: answer.status || to, failure: undefined });
  } catch (e) {
    const failure = asApiError(e);
    update(failure.code === "RUN_NOT_ACTIVE" ? { status: "completed" } : { failure });
  } finally {
    sending.value = false;
  }
}

function update(by: { status?: string; failure?: ApiError | undefined }) {
  if (conflict.value) conflict.value = { ...conflict.value, ...by };
}
