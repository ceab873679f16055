// Starting, resetting and filling the form.
import { batch, computed } from "@preact/signals";
import { ApiError } from "../api/client.ts";
import type { RunConfig } from "../api/types.ts";
import { mayReset } from "../panels/reset.tsx";
import * as session from "../state/session.ts";
import { connection, ended, exchanges, running, strategies } from "../state/store.ts";
import { announce, formOpen } from "../state/view.ts";
import * as draft from "./draft.ts";
import { refill, sample } from "./fill.ts";
import { config, exchange, fills, findings, readings, setRaw } from "./model.ts";
import type { Section } from "./model.ts";
import { attempted, calls, clear, refuse, sending, sent } from "./outcome.ts";
import { request } from "./request.ts";

/** Why Start does nothing now; "" if it starts. */
export const whyNot = computed(() => {
  if (sending.value) return "Starting…";
  if (connection.value.state === "down") return "The service does not answer.";
  if (running.value) return "A run is active: stop it or wait.";
  if (!strategies.value || !exchanges.value) return "Waiting for the service's lists…";
  if (!strategies.value.length) return "There are no strategies: build one, then restart the service.";
  const wrong = findings.value.filter((f) => f.certain).map((f) => f.label);
  return wrong.length ? `Look at: ${wrong.slice(0, 3).join(", ")}${wrong.length > 3 ? ` and ${wrong.length - 3} more` : ""}.` : "";
});

function filled() {
  return request({
    mode: draft.mode.value, strategy: draft.strategy.value, symbols: draft.symbols.value, timeframe: draft.timeframe.value,
    exchange: exchange.value?.id ?? draft.exchange.value, start: draft.start.value, end: draft.end.value, cash: draft.cash.value,
    params: readings.params.value.value, execution: readings.fills.value.value, config: readings.config.value.value,
  });
}

/** The Start button, Reset and start, and Ctrl+Enter. */
export async function submit(): Promise<void> {
  if (sending.value) return;
  attempted.value = true;
  clear();
  if (whyNot.value) {
    announce(whyNot.value);
    calls.value++;
    return;
  }
  const again = ended.value;
  if (again && !(await mayReset())) return;
  try {
    await send(again);
    showRun();
  } catch (e) {
    refuse(known(e));
  }
}

/** Where the form covers the run it makes way, and the focus goes along. */
function showRun() {
  const covered = formOpen.value;
  formOpen.value = false;
  if (covered) document.getElementById("run")?.focus();
}

/** Posts the form; whatever the answer, credentials do not outlive it. */
async function send(again: boolean): Promise<void> {
  sending.value = true;
  const start = filled(), settings = config.value;
  try {
    await (again ? session.resetAndStart(start) : session.start(start));
  } finally {
    batch(() => {
      if (start.mode !== "backtest") start.body.exchange_config = {};
      forget(settings);
      draft.confirmation.value = "";
      sent();
      sending.value = false;
    });
  }
}

/** Empties every credential; the other settings stay. */
export function forget(settings: Section) {
  for (const f of settings.fields) if (f.secret) setRaw(settings, f, undefined);
}

const known = (e: unknown) => (e instanceof ApiError ? e : new ApiError("BROWSER", (e as Error).message, 0));

/** The secondary button: resets the ended run and leaves the form alone. */
export async function reset(): Promise<void> {
  if (sending.value || !(await mayReset())) return;
  clear();
  sending.value = true;
  try {
    await session.reset();
  } catch (e) {
    refuse(known(e));
  } finally {
    sending.value = false;
  }
}

/** Fills the form with a run's configuration ("run this again"). */
export function fill(config: RunConfig): void {
  batch(() => {
    clear();
    attempted.value = false;
    refill(config, strategies.value?.find((s) => s.name === config.strategy_name), exchanges.value?.find((e) => e.id === config.exchange), fills.value.fields);
  });
}

/** Fills the form with the bundled strategy on the bundled candles and starts it;
 *  throws ApiError, which is the caller's to show. */
export async function startSample(): Promise<void> {
  const usable = (strategies.value ?? []).filter((s) => s.status === "available");
  const venues = (exchanges.value ?? []).filter((e) => e.status === "available" && e.modes.includes("backtest"));
  const strategy = usable.find((s) => s.name === "sma_cross") ?? usable[0];
  const venue = venues.find((e) => e.id === "sample") ?? venues.find((e) => e.default) ?? venues[0];
  if (sending.value) return;
  if (!strategy || !venue) throw new ApiError("NOTHING_TO_RUN", strategy ? "No exchange here has candles." : "No strategy here can be started.", 0);
  batch(() => sample(strategy.name, venue));
  await send(false);
}
