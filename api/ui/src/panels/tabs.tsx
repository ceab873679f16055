// The tables and texts below the chart, one at a time.
import { computed } from "@preact/signals";
import { useRef } from "preact/hooks";
import { count, words } from "../state/format.ts";
import { dated, datedAt } from "../state/fresh.ts";
import { log, positions, recent, report, status } from "../state/store.ts";
import { tab, tabs, type Tab } from "../state/view.ts";
import { Awaited, useParts } from "../parts.tsx";
import { Positions, RunTable } from "../table/tables.tsx";
import { Evidence } from "./evidence.tsx";
import { Icon } from "./icon.tsx";
import { move } from "./keys.ts";
import { LogPanel } from "./log.tsx";

const counts: Record<Tab, { value: number | null }> = {
  trades: computed(() => Math.max(recent.value.total.trades, status.value.trade_count)),
  orders: computed(() => (dated.value ? null : recent.value.total.orders)),
  fills: computed(() => (dated.value ? null : recent.value.total.fills)),
  positions: computed(() => (dated.value ? null : positions.value.length)),
  metrics: computed(() => null),
  evidence: computed(() => report.value.warnings.length || null),
  log: computed(() => (dated.value ? null : log.value.length)),
};

export function Tabs() {
  const list = useRef<HTMLDivElement>(null);
  const onKey = (e: KeyboardEvent) => {
    const to = move(e.key, tabs.indexOf(tab.value), tabs.length);
    const name = to === null ? undefined : tabs[to];
    if (!name) return;
    e.preventDefault();
    tab.value = name;
    list.current?.querySelector<HTMLElement>(`#tab-${name}`)?.focus();
  };
  return (
    <section class="panel tabs" aria-label="Details of the run">
      <div ref={list} role="tablist" aria-label="Details of the run" onKeyDown={onKey}>
        {tabs.map((name) => <OneTab key={name} name={name} />)}
      </div>
      <Panel />
    </section>
  );
}

function OneTab({ name }: { name: Tab }) {
  const selected = tab.value === name;
  const n = counts[name].value;
  return (
    <button
      type="button" role="tab" id={`tab-${name}`} aria-selected={selected} aria-controls={selected ? `panel-${name}` : undefined}
      tabIndex={selected ? 0 : -1} onClick={() => (tab.value = name)}
    >
      {words(name)}
      {n === null ? null : name === "evidence" ? <Warnings n={n} /> : <span class="count">{count(n)}</span>}
    </button>
  );
}

function Warnings({ n }: { n: number }) {
  return <span class="count warn"><Icon name="warn" />{n}<span class="unseen"> {n === 1 ? "warning" : "warnings"}</span></span>;
}

// A text has nothing to focus, a table has its cells.
const texts: readonly Tab[] = ["metrics", "evidence"];

function Panel() {
  const name = tab.value, blind = dated.value && !datedAt.value;
  return (
    <div role="tabpanel" id={`panel-${name}`} aria-labelledby={`tab-${name}`} tabIndex={blind || texts.includes(name) ? 0 : undefined}>
      {dated.value && <p class="caption">{blind ? "Live updates are not available: this comes at the end of the run." : `As of ${datedAt.value}: live updates are not available.`}</p>}
      {!blind && <Content name={name} />}
    </div>
  );
}

function Content({ name }: { name: Tab }) {
  switch (name) {
    case "positions":
      return <Positions />;
    case "metrics":
      return <Metrics />;
    case "evidence":
      return <Evidence />;
    case "log":
      return <LogPanel />;
    default:
      return <RunTable key={name} table={name} />;
  }
}

function Metrics() {
  const parts = useParts();
  return parts ? <parts.MetricsPanel /> : <Awaited />;
}
