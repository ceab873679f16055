// Starting, resetting and filling the form.
import { batch, computed } from "@preact/signals";
import { ApiError } from "../api/client.ts";
import type { RunConfig } from "../api/types.ts";
import { confirm } from "../panels/confirm.tsx";
import { mayReset } from "../panels/reset.tsx";
import * as session from "../state/session.ts";
import { isolated } from "../state/bidi.ts";
import { connection, ended, exchanges, known, listProblems, resetOnly, running, status, strategies } from "../state/store.ts";
import { announce, formOpen } from "../state/view.ts";
import * as draft from "./draft.ts";
import { refill, showSample } from "./fill.ts";
import { config, end, exchange, executionFields, findings, held, readings, setRaw, used } from "./model.ts";
import type { Section } from "./model.ts";
import { moment, typed } from "./moment.ts";
import { attempted, calls, clear, refuse, sending, sent } from "./outcome.ts";
import { request } from "./request.ts";
import { sampleOf } from "./sample.ts";

const waiting = computed(() => (Object.values(listProblems.value).some(Boolean) ? "The service's lists could not be loaded." : "Waiting for the service's lists…"));

/** Why Start does nothing now; "" if it starts. */
export const whyNot = computed(() => {
  if (sending.value) return "Starting…";
  if (connection.value.state === "down") return "The service does not answer.";
  if (!known.value) return "Connecting to the service…";
  if (running.value) return "A run is active: stop it or wait.";
  if (resetOnly.value) return "The last run may have left orders or positions: look at them, then reset it.";
  if (!strategies.value || !exchanges.value) return waiting.value;
  if (!strategies.value.length) return "There are no strategies: build one, then restart the service.";
  const wrong = findings.value.filter((f) => f.certain).map((f) => isolated(f.label));
  if (wrong.length === 1 && wrong[0] === isolated("Confirmation")) return "Type the confirmation to continue.";
  return wrong.length ? `Check ${wrong.slice(0, 3).join(", ")}${wrong.length > 3 ? ` and ${wrong.length - 3} more` : ""}.` : "";
});

function filled() {
  return request({
    mode: draft.mode.value, strategy: draft.strategy.value, symbols: draft.symbols.value, timeframe: draft.timeframe.value,
    exchange: exchange.value?.id ?? draft.exchange.value, start: draft.start.value, end: end.value, cash: draft.cash.value,
    params: readings.params.value.value, execution: readings.fills.value.value, config: readings.config.value.value,
  });
}

/** The Start button, Replace and start, and Ctrl+Enter. Replaced is the ended run that makes room, the one shown unless it is named. */
export async function submit(replaced = ended.value ? status.value.run_id : ""): Promise<void> {
  if (sending.value) return;
  attempted.value = true;
  clear();
  if (whyNot.value) {
    announce(whyNot.value);
    calls.value++;
    return;
  }
  if (!(await mayLook())) return;
  try {
    await send(replaced);
    showRun();
  } catch (e) {
    refuse(asApiError(e));
  }
}

const agreed = new Set<string>();

/** Asks once before the first look at a hold-out, saying what it costs. */
async function mayLook(): Promise<boolean> {
  const from = held.value, to = moment(end.value)?.ms ?? Infinity;
  const which = [used.value?.id, ...draft.symbols.value, from].join(" ");
  if (!from || to <= Date.parse(from) || agreed.has(which)) return true;
  const body = `Candles from ${typed(from)} on are held out to test the final choice. This run counts as a look at them and as a trial: what is chosen after it has seen its own test.`;
  const yes = await confirm({ title: "Look at the hold-out?", body, action: "Look and start" });
  if (yes) agreed.add(which);
  return yes;
}

/** Where the form covers the run it makes way, and the focus goes along. */
function showRun() {
  const covered = formOpen.value;
  formOpen.value = false;
  if (covered) document.getElementById("run")?.focus();
}

/** Posts the form; whatever the answer, credentials do not outlive it. */
async function send(replaced: string): Promise<void> {
  sending.value = true;
  const start = filled(), settings = config.value;
  try {
    await session.start(start, replaced);
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

export const asApiError = (e: unknown) => (e instanceof ApiError ? e : new ApiError("BROWSER", (e as Error).message, 0));

/** The secondary button: resets the ended run and leaves the form alone. */
export async function reset(): Promise<void> {
  if (sending.value || !(await mayReset())) return;
  clear();
  sending.value = true;
  try {
    await session.reset();
  } catch (e) {
    refuse(asApiError(e));
  } finally {
    sending.value = false;
  }
}

/** Fills the form with a run's configuration ("run this again"). */
export function fill(config: RunConfig): void {
  batch(() => {
    clear();
    attempted.value = false;
    refill(config, strategies.value?.find((s) => s.name === config.strategy_name), exchanges.value?.find((e) => e.id === config.exchange), executionFields);
  });
}

/** What "Run the sample" runs, or why it cannot. */
export const sample = computed(() => (strategies.value && exchanges.value ? sampleOf(strategies.value, exchanges.value) : waiting.value));

/** Fills the form with the sample and starts it; throws ApiError, which is the caller's to show. */
export async function startSample(): Promise<void> {
  const chosen = sample.value;
  if (sending.value) return;
  if (typeof chosen === "string") throw new ApiError("NOTHING_TO_RUN", chosen, 0);
  batch(() => showSample(chosen));
  await send("");
}
