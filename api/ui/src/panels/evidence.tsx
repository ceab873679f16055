// What the numbers rest on: notes, the exact request, and hashes to check them by.
import { computed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Note, RunConfig } from "../api/types.ts";
import { fill } from "../form/form.tsx";
import { execution } from "../gen/contract.ts";
import { time } from "../state/format.ts";
import { awaiting } from "../state/fresh.ts";
import { config, ended, exchanges, report, results, status, strategies } from "../state/store.ts";
import { formOpen } from "../state/view.ts";
import { executionRows, parameterRows, requestRows, riskRows, type Row } from "./configuration.ts";
import { Copy } from "./copy.tsx";
import { searchWords, trialsOf } from "./numbers.ts";

export function Evidence() {
  const c = config.value;
  return (
    <div class="evidence">
      <Verdict />
      <Notes title="Warnings" list={report.value.warnings} none="None." />
      <Notes title="Assumptions" list={report.value.assumptions} none="None." />
      {c ? (
        <>
          <Group title="Request" action={<button type="button" onClick={() => again(c)}>Run this again</button>}>
            <Rows rows={requestRows(c, exchanges.value)} />
          </Group>
          <Group title="Parameters">
            {Object.keys(c.strategy_params).length === 0 ? <p class="muted">None.</p> : <Rows rows={parameterRows(c, strategies.value)} />}
          </Group>
          {c.mode !== "live" && <Group title="Execution"><Rows rows={executionRows(c, execution, exchanges.value)} /></Group>}
          {c.risk && <Group title="Risk limits"><Rows rows={riskRows(c)} /></Group>}
          <Group title="Identity" whole><Identity c={c} /></Group>
        </>
      ) : <p class="muted">{awaiting.value ? "Loading…" : "The configuration is known when the run has ended."}</p>}
    </div>
  );
}

function again(c: RunConfig) {
  fill(c);
  formOpen.value = true;
  requestAnimationFrame(() => document.getElementById("form-title")?.focus());
}

function Group({ title, action, whole, children }: { title: string; action?: ComponentChildren; whole?: boolean; children: ComponentChildren }) {
  return <section class={whole ? "whole" : ""}><div class="group-head"><h3>{title}</h3>{action}</div>{children}</section>;
}

const verdict = computed(() => (!ended.value ? "running" : status.value.status === "failed" || !status.value.partial ? status.value.status : status.value.mode === "backtest" ? "partial" : "stopped"));
const verdicts: Record<string, string> = {
  running: "The run goes on: nothing here is final.",
  partial: "Partial: the run ended before its data did. It is not evidence for the whole window.",
  stopped: "Stopped: what is here is evidence for the time that the run was on.",
  failed: "The run failed: what is here ends at the fault.",
  completed: "Complete: the run went through all of its window.",
};

function Verdict() {
  const trials = trialsOf(results.value);
  return <p class="verdict" data-partial={status.value.partial}><strong>{verdicts[verdict.value]}</strong>{trials && ` ${searchWords(trials)}`}</p>;
}

function Notes({ title, list, none }: { title: string; list: Note[]; none: string }) {
  return (
    <Group title={`${title} (${list.length})`}>
      {list.length === 0 ? <p class="muted">{none}</p> : (
        <ul class="notes">{list.map((note) => <li key={note.code + note.message}><code>{note.code}</code> <bdi>{note.message}</bdi></li>)}</ul>
      )}
    </Group>
  );
}

function Rows({ rows }: { rows: Row[] }) {
  return (
    <dl class="rows">
      {rows.map((r) => <div key={r.key}><dt title={r.key}><bdi>{r.name}</bdi></dt><dd><bdi>{r.text}</bdi>{r.standard && <span class="mark">default</span>}</dd></div>)}
    </dl>
  );
}

function Identity({ c }: { c: RunConfig }) {
  const r = results.value;
  // What is undefined comes with the results.
  const list: [string, string | undefined][] = [
    ["Run id", status.value.run_id],
    ["Strategy version", c.strategy.version],
    ["Strategy sha256", c.strategy.sha256],
    ["Engine version", c.engine.version],
    ["Engine commit", c.engine.commit],
    ["Data hash", c.data_hash],
    ["Request hash", r?.request_hash],
    ["Result hash", r?.result_hash],
    ["Artifacts", r?.artifacts],
  ];
  return (
    <dl class="rows">
      <div><dt>Window</dt><dd>{time(c.window.start)} to {time(c.window.end)} UTC</dd></div>
      {list.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ? <><code><bdi>{value}</bdi></code><Copy text={value} what={name.toLowerCase()} /></> : <span class="muted">{value === "" ? "none" : ended.value ? "loading…" : "after the end"}</span>}</dd>
        </div>
      ))}
    </dl>
  );
}
