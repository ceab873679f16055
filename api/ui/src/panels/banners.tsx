// Bars below the header: what limits the worth of what is on the page.
import { computed, signal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { retryNow } from "../state/session.ts";
import { connection, notice, report, status } from "../state/store.ts";
import { tab } from "../state/view.ts";
import { useNow } from "./clock.ts";
import { useKeepFocus } from "./focus.ts";
import { Icon } from "./icon.tsx";
import { phaseWords } from "./sentences.ts";
import { stopProblem } from "./stop.ts";

/** Whether the numbers are older than 5 s because the connection is broken. */
export const stale = signal(false);
const staleAfter = 5000;

const link = computed(() => connection.value.state);

export function Banners() {
  useStale();
  return (
    <div class="banners">
      <Link />
      <Notice />
      <Refused />
      <RunBanners />
    </div>
  );
}

/** Watches the age of the data with one timer, not with a clock. */
function useStale() {
  useSignalEffect(() => {
    const { state, lastData } = connection.value;
    const broken = state === "reconnecting" || state === "down" || state === "polling";
    const left = broken ? staleAfter - (performance.now() - lastData) : Infinity;
    stale.value = left <= 0 && lastData > 0;
    if (left <= 0 || left === Infinity) return;
    const timer = setTimeout(() => (stale.value = true), left);
    return () => clearTimeout(timer);
  });
}

function Bar({ kind, children }: { kind: string; children: ComponentChildren }) {
  const ref = useRef<HTMLDivElement>(null);
  useKeepFocus(ref);
  return <div ref={ref} class="banner" data-banner={kind}><Icon name="warn" />{children}</div>;
}

function Link() {
  switch (link.value) {
    case "reconnecting":
      return <Bar key="reconnecting" kind="reconnecting"><p>Reconnecting. <LastData /></p></Bar>;
    case "polling":
      return <Bar key="polling" kind="polling"><p>Live updates are not available: asking every 2 s; no candles.</p></Bar>;
    case "down":
      return (
        <Bar key="down" kind="down">
          <p>The service does not answer. <Retry /> <LastData /></p>
          <button type="button" onClick={retryNow}>Retry now</button>
        </Bar>
      );
    default:
      return null;
  }
}

function LastData() {
  const now = useNow(true);
  const { lastData } = connection.value;
  return <>{lastData ? `Last data ${Math.max(0, Math.round((now - lastData) / 1000))} s ago.` : "No data yet."}</>;
}

function Retry() {
  const now = useNow(true);
  const { retryAt } = connection.value;
  return <>{retryAt > now ? `Trying again in ${Math.ceil((retryAt - now) / 1000)} s.` : "Trying again now."}</>;
}

function Notice() {
  return notice.value ? <Dismissible kind="notice" text={notice.value} dismiss={() => (notice.value = "")} /> : null;
}

function Refused() {
  const text = stopProblem.value;
  return <div role="alert">{text && <Dismissible kind="refused" text={text} dismiss={() => (stopProblem.value = "")} />}</div>;
}

function Dismissible({ kind, text, dismiss }: { kind: string; text: string; dismiss: () => void }) {
  return (
    <Bar kind={kind}>
      <p>{text}</p>
      <button type="button" class="quiet" aria-label="Dismiss" onClick={dismiss}><Icon name="cross" /></button>
    </Bar>
  );
}

const ungated = computed(() => status.value.ungated);
// A failed run says itself that it did not get to its end.
const partial = computed(() => status.value.status === "completed" && status.value.partial);
const phase = computed(() => status.value.phase);
const warnings = computed(() => report.value.warnings.length);

function RunBanners() {
  const n = warnings.value;
  return (
    <div class="run-banners">
      {ungated.value && <Bar kind="ungated"><p>Ungated: real money trades without a deployable registry entry.</p></Bar>}
      {(phase.value === "reducing" || phase.value === "halted") && <Bar kind={phase.value}><p>The run is {phaseWords(phase.value)}.</p></Bar>}
      {partial.value && <Bar kind="partial"><p>Stopped before the end: not evidence.</p></Bar>}
      {n > 0 && (
        <Bar kind="warnings">
          <p>{n === 1 ? "1 warning" : `${n} warnings`} about these numbers.</p>
          <button type="button" onClick={showEvidence}>Show in Evidence</button>
        </Bar>
      )}
    </div>
  );
}

function showEvidence() {
  tab.value = "evidence";
  requestAnimationFrame(() => document.getElementById("tab-evidence")?.focus());
}
