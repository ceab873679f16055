// The run's log. Without "Follow" the lines stand still, and newer ones wait.
import { signal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { LogLine } from "../api/types.ts";
import { count } from "../state/format.ts";
import { generation, log, running } from "../state/store.ts";
import { Copy } from "./copy.tsx";
import { clock, filtered, levels, type Filter, type Level } from "./lines.ts";
import { lineText } from "./report.ts";

// Kept while another tab is open.
const filter = signal<Filter>({ level: "trace", source: "" });
const follow = signal(true);

export function LogPanel() {
  const held = useSignal<LogLine[] | null>(follow.peek() ? null : log.peek());
  useSignalEffect(() => {
    held.value = follow.value ? null : log.peek();
  });
  useSignalEffect(() => {
    // Lines of another run are not worth holding.
    if (generation.value >= 0 && !follow.peek()) held.value = log.peek();
  });
  const shown = useComputed(() => filtered(held.value ?? log.value, filter.value));
  const waiting = useComputed(() => (held.value ? log.value.length - 1 - log.value.lastIndexOf(held.value.at(-1) as LogLine) : 0));
  return (
    <div class="log">
      <div class="toolbar">
        <Filters />
        <label class="switch"><input type="checkbox" checked={follow.value} onChange={(e) => (follow.value = e.currentTarget.checked)} />Follow</label>
        <span class="caption">{count(shown.value.length)} of {count(log.value.length)} lines{waiting.value > 0 && `, ${count(waiting.value)} newer held back`}</span>
        <Copy what="log" text={() => shown.peek().map(lineText).join("\n")}>Copy</Copy>
      </div>
      <Lines lines={shown.value} />
    </div>
  );
}

function Filters() {
  const { level, source } = filter.value;
  return (
    <>
      <label>Level
        <select value={level} onChange={(e) => (filter.value = { ...filter.value, level: e.currentTarget.value as Level })}>
          {levels.map((name) => <option key={name} value={name}>{name === "trace" ? "all" : name === "error" ? "error" : `${name} and above`}</option>)}
        </select>
      </label>
      <label>Source
        <select value={source} onChange={(e) => (filter.value = { ...filter.value, source: e.currentTarget.value })}>
          <option value="">all</option>
          <option value="host">host</option>
          <option value="plugin">plugin</option>
        </select>
      </label>
    </>
  );
}

function Lines({ lines }: { lines: LogLine[] }) {
  const box = useRef<HTMLDivElement>(null);
  const top = useRef(0);
  // A line never changes: its node is made once, and what is the same is not compared again.
  const nodes = useRef(new WeakMap<LogLine, VNode>());
  const keys = useRef(0);
  const node = (line: LogLine) => {
    let made = nodes.current.get(line);
    if (!made) nodes.current.set(line, (made = <Line key={keys.current++} line={line} />));
    return made;
  };
  useLayoutEffect(() => {
    const at = box.current;
    if (at && follow.value) at.scrollTop = top.current = at.scrollHeight;
  }, [lines, follow.value]);
  const onScroll = () => {
    const at = box.current;
    if (!at) return;
    // Whoever scrolls up wants to read.
    if (at.scrollTop < top.current - 1 && at.scrollHeight - at.scrollTop - at.clientHeight > 24) follow.value = false;
    top.current = at.scrollTop;
  };
  return (
    <div ref={box} class="lines" role="region" aria-label="Log lines" tabIndex={0} onScroll={onScroll}>
      {lines.length === 0 ? <p class="none">{log.value.length ? "No line passes the filter." : running.value ? "No line yet." : "The run wrote no line."}</p>
        : <ol>{lines.map(node)}</ol>}
    </div>
  );
}

function Line({ line }: { line: LogLine }) {
  const fields = Object.entries(line.fields ?? {});
  return (
    <li class={`line ${line.level}`}>
      <time dateTime={line.time ?? undefined} title={line.time ?? "no time"}>{clock(line.time)}</time>
      <span class="level">{line.level}</span>
      <span class="source">{line.source}</span>
      <span class="message"><bdi>{line.message}</bdi>{fields.map(([key, value]) => <span key={key} class="muted"> <bdi>{key}</bdi>=<bdi>{value}</bdi></span>)}</span>
    </li>
  );
}
