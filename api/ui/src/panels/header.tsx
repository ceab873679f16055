// The top of the page: what runs, whether all is well, and the buttons that are always there.
import { useLayoutEffect, useRef } from "preact/hooks";
import { computed } from "@preact/signals";
import { address } from "../state/address.ts";
import { shortId } from "../state/format.ts";
import { lastKnown, stale } from "../state/fresh.ts";
import { connection, known, running, status } from "../state/store.ts";
import { nextTheme, theme } from "../state/theme.ts";
import { dialog } from "../state/view.ts";
import { Banners } from "./banners.tsx";
import { Checks } from "./checks.tsx";
import { useNow } from "./clock.ts";
import { Copy } from "./copy.tsx";
import { useKeepFocus } from "./focus.ts";
import { Icon, type IconName } from "./icon.tsx";
import { Nav } from "./nav.tsx";
import { askStop, stopping } from "./stop.ts";

export function Header() {
  const ref = useRef<HTMLElement>(null);
  useHeight(ref);
  return (
    <header ref={ref} class="top" data-mode={mode.value || undefined}>
      <div class="header">
        <h1>Assay</h1>
        <Nav />
        <State />
        <RunId />
        <div class="badges">
          <Checks />
          <Stream />
        </div>
        <div class="buttons">
          <Stop />
          <ThemeButton />
          <button type="button" aria-label="Help" title="Help (?)" onClick={() => (dialog.value = "help")}>?</button>
        </div>
      </div>
      <Banners />
    </header>
  );
}

/** Tells the style sheet how much of the page the header covers while it sticks. */
function useHeight(ref: { current: HTMLElement | null }) {
  useLayoutEffect(() => {
    const header = ref.current;
    if (!header) return;
    const root = document.documentElement.style;
    const watch = new ResizeObserver(() => root.setProperty("--header", `${header.offsetHeight}px`));
    watch.observe(header);
    return () => watch.disconnect();
  }, []);
}

const signs: Record<string, IconName> = { idle: "ring", running: "dot", completed: "check", failed: "cross" };
// Computed, because status changes several times a second and these words rarely.
const state = computed(() => status.value.status);
const words = computed(() => known.value ? said.value : connection.value.state === "down" ? "not known" : "connecting…");
const said = computed(() => [status.value.status, status.value.mode, lastKnown.value && "last known"].filter(Boolean).join(" · "));
const mode = computed(() => status.value.mode);
const runId = computed(() => status.value.run_id);

function State() {
  return <p class="state" data-status={known.value ? state.value : "unknown"} data-mode={mode.value || undefined}><Icon name={signs[state.value] ?? "ring"} />{words.value}</p>;
}

function RunId() {
  if (!runId.value) return null;
  const id = <code title={runId.value}>{shortId(runId.value)}</code>;
  return (
    <p class="run-id">
      {state.value === "completed" || state.value === "failed" ? <a href={address("run", runId.value)}>{id}</a> : id}
      <Copy text={runId.value} what="run id" />
    </p>
  );
}

const streams = {
  connecting: { icon: "ring", title: "Connecting to the service" },
  live: { icon: "dot", title: "Changes arrive as they happen" },
  silent: { icon: "warn", title: "The service has not said anything for more than 5 s" },
  reconnecting: { icon: "warn", title: "The stream broke; the last data are kept" },
  polling: { icon: "warn", title: "No stream: the status is asked for every 2 s" },
  down: { icon: "cross", title: "The service does not answer" },
} as const;
const stream = computed(() => (connection.value.state === "live" && stale.value ? "silent" : connection.value.state));

function Stream() {
  const { icon, title } = streams[stream.value];
  return <span class={`badge ${stream.value === "live" || stream.value === "connecting" ? "pass" : "warn"}`} data-stream={stream.value} title={title}><Icon name={icon} />{stream.value === "live" ? "connected" : stream.value}</span>;
}

function Stop() {
  return running.value ? <StopButton /> : null;
}

const phase = computed(() => status.value.phase);

function StopButton() {
  const ref = useRef<HTMLButtonElement>(null);
  const since = useRef(0);
  const busy = stopping.value;
  const now = useNow(busy);
  if (!busy) since.current = 0;
  else if (!since.current) since.current = performance.now();
  useKeepFocus(ref);
  const seconds = Math.max(0, Math.round((now - since.current) / 1000));
  return (
    <button ref={ref} type="button" aria-disabled={busy} onClick={askStop}>
      <Icon name="square" />
      {busy ? `Stopping… ${phase.value === "stopping" ? "" : phase.value + " "}${seconds} s` : "Stop"}
    </button>
  );
}

function ThemeButton() {
  const next = { auto: "light", light: "dark", dark: "auto" }[theme.value];
  return (
    <button type="button" aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value}. Next: ${next} (t)`} onClick={nextTheme}>
      <Icon name={theme.value} />
    </button>
  );
}
