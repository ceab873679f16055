// Bars below the header: what limits the worth of what is on the page.
import { computed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { awaiting, dated, datedAt, stale, watchFreshness } from "../state/fresh.ts";
import { duration } from "../state/format.ts";
import { isLimit } from "../state/limits.ts";
import { readResults, retryNow } from "../state/session.ts";
import { config, connection, notice, report, resultsProblem, running, status } from "../state/store.ts";
import { tab } from "../state/view.ts";
import { useNow } from "./clock.ts";
import { useKeepFocus } from "./focus.ts";
import { Icon } from "./icon.tsx";
import { Problem } from "./problem.tsx";
import { phaseWords } from "./sentences.ts";
import { stopProblem } from "./stop.ts";

const link = computed(() => connection.value.state);

export function Banners() {
  useEffect(watchFreshness, []);
  return (
    <div class="banners">
      <Link />
      <Notice />
      <Refused />
      <Unread />
      <RunBanners />
    </div>
  );
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
      return <Bar key="polling" kind="polling"><p>Live updates are not available: asking every 2 s; no candles. <Rest /></p></Bar>;
    case "down":
      return (
        <Bar key="down" kind="down">
          <p>The service does not answer. <Retry /> <LastData /></p>
          <button type="button" onClick={retryNow}>Retry now</button>
        </Bar>
      );
    case "live":
      return stale.value ? <Bar key="silent" kind="silent"><p>The service is silent. <LastData /></p></Bar> : null;
    default:
      return null;
  }
}

/** How old is what the status does not tell. */
function Rest() {
  if (stale.value) return <LastData />;
  if (!dated.value) return null;
  return <>{datedAt.value ? `Chart, tables and log are as of ${datedAt.value}.` : "Chart, tables and log come at the end of the run."}</>;
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
  return notice.value ? <Dismissible kind="notice" dismiss={() => (notice.value = "")}>{notice.value}</Dismissible> : null;
}

function Refused() {
  const error = stopProblem.value;
  return <div role="alert">{error && <Dismissible kind="refused" dismiss={() => (stopProblem.value = null)}><Problem error={error} /></Dismissible>}</div>;
}

// A service that does not answer at all has a bar of its own.
const unread = computed(() => (awaiting.value && link.value !== "down" ? resultsProblem.value : null));

function Unread() {
  return (
    <div role="alert">
      {unread.value && (
        <Bar kind="results">
          <p>The results of the run cannot be read: <Problem error={unread.value} /></p>
          <button type="button" onClick={readResults}>Retry</button>
        </Bar>
      )}
    </div>
  );
}

function Dismissible({ kind, dismiss, children }: { kind: string; dismiss: () => void; children: ComponentChildren }) {
  return (
    <Bar kind={kind}>
      <p>{children}</p>
      <button type="button" class="quiet" aria-label="Dismiss" onClick={dismiss}><Icon name="cross" /></button>
    </Bar>
  );
}

const ungated = computed(() => status.value.ungated);
// A failed run says itself that it did not get to its end.
const partial = computed(() => status.value.status === "completed" && status.value.partial);
const backtest = computed(() => status.value.mode === "backtest");
const runtime = computed(() => status.value.runtime_seconds);
const phase = computed(() => status.value.phase);
/** Warnings about the numbers themselves are said in full; the others are counted. */
const isGrave = (code: string) => ["EQUITY_BELOW_HALF", "ORDERS_REJECTED", "FEES_ABOVE_CASH", "DUST_FILLS", "SHARPE_TOO_FEW_DAYS", "POINTS_DROPPED"].includes(code);
const grave = computed(() => report.value.warnings.filter((w) => isGrave(w.code)));
const others = computed(() => report.value.warnings.filter((w) => !isGrave(w.code)));
const warnings = computed(() => others.value.length);
const newest = computed(() => others.value.at(-1));
/** Warnings of a paper or live run come as it goes on: the newest is what there is to act on. */
const open = computed(() => running.value && status.value.mode !== "backtest");

function RunBanners() {
  const n = warnings.value;
  return (
    <div class="run-banners">
      {ungated.value && <Bar kind="ungated"><p>Ungated: real money trades without a deployable registry entry.</p></Bar>}
      {(phase.value === "reducing" || phase.value === "halted") && <Bar kind={phase.value}><p>The run is {phaseWords(phase.value)}.</p></Bar>}
      {partial.value && <Bar kind="partial"><p>{partialWords(backtest.value, runtime.value)}</p></Bar>}
      {grave.value.length > 0 && <Bar kind="grave"><ul>{grave.value.map((w) => <li key={w.code}>{w.message}</li>)}</ul></Bar>}
      {n > 0 && (
        <Bar kind="warnings">
          <p>{warningWords(n, open.value)}{open.value && <> <code>{newest.value?.code}</code> <bdi>{sentence(newest.value?.message ?? "")}</bdi></>}{shadowed.value && <> Nothing is blocked: in this paper run the limits only watch.</>}</p>
          <button type="button" onClick={showEvidence}>Show in Evidence</button>
        </Bar>
      )}
    </div>
  );
}

/** A paper run goes past its limits, unless the service enforces them there, too. */
const shadowed = computed(() => open.value && config.value?.risk?.mode === "shadow" && isLimit(newest.value?.code ?? ""));

/** A paper or live run has no end of its own: stopped, it is evidence for its time. */
const partialWords = (isBacktest: boolean, seconds: number) =>
  isBacktest ? "Stopped before the end of its data: not evidence for the whole window." : `Stopped after ${duration(seconds)}: evidence for that time only.`;

function warningWords(n: number, open: boolean): string {
  if (open) return n === 1 ? "Warning:" : `${n} warnings, the newest:`;
  return `${n === 1 ? "1 warning" : `${n} warnings`} about these numbers.`;
}

/** Messages end as they were written; here more may follow. */
const sentence = (text: string) => (/[.!?]$/.test(text) || text === "" ? text : `${text}.`);

function showEvidence() {
  tab.value = "evidence";
  requestAnimationFrame(() => document.getElementById("tab-evidence")?.focus());
}
