// What a person can do to a paper or live run while it goes on, each after a question.
import { computed, signal } from "@preact/signals";
import type { ControlRequest } from "../api/types.ts";
import * as session from "../state/session.ts";
import { notice, positions, running, status } from "../state/store.ts";
import { confirm } from "./confirm.tsx";
import { stopProblem, stopping } from "./stop.ts";

const busy = signal(false);
const trades = computed(() => running.value && !stopping.value && ["trading", "reducing", "halted"].includes(status.value.phase) && status.value.mode !== "backtest");
const paused = computed(() => status.value.alarms.some((a) => a.code === "OPERATOR_PAUSED"));
const live = computed(() => status.value.mode === "live");
const held = computed(() => positions.value.map((p) => p.symbol));

/** Asks, and hands the control to the run; the answer, or why it was refused, is a bar of the header. */
export async function operate(control: ControlRequest, title: string, body: string, action: string): Promise<void> {
  if (busy.value || !(await confirm({ title, body: <p>{body}</p>, action, danger: live.value }))) return;
  busy.value = true;
  stopProblem.value = null;
  try {
    notice.value = (await session.control(control)).message + ".";
  } catch (e) {
    stopProblem.value = e as Error;
  } finally {
    busy.value = false;
  }
}

export function Controls() {
  if (!trades.value) return null;
  const when = live.value ? "at the market, now" : "with the next candle";
  return (
    <div class="controls" role="group" aria-label="Controls of the run">
      {paused.value
        ? <Control control={{ action: "resume" }} title="Let entries again?" body="The strategy may open positions again." action="Resume entries" />
        : <Control control={{ action: "pause" }} title="Pause entries?" body="No order that opens or enlarges a position leaves until you resume. Exits stay." action="Pause entries" />}
      <Control control={{ action: "cancel" }} title="Cancel all entries?" body="Every open order that would open or enlarge a position is taken back. Exits stay." action="Cancel entries" />
      {held.value.map((symbol) => (
        <Control key={symbol} control={{ action: "close", symbol }} title={`Close ${symbol}?`} body={`The position in ${symbol} is closed ${when}. The strategy may open another one.`} action={`Close ${symbol}`} />
      ))}
      <Control control={{ action: "flatten" }} title="Flatten the run?" body={`Entries are paused and taken back, every position is closed ${when}. The run goes on without opening any until you resume.`} action="Flatten" />
    </div>
  );
}

function Control({ control, title, body, action }: { control: ControlRequest; title: string; body: string; action: string }) {
  return <button type="button" disabled={busy.value} data-control={control.action} onClick={() => void operate(control, title, body, action)}>{action}</button>;
}
