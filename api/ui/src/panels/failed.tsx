// Why the run failed and what to do next.
import { computed } from "@preact/signals";
import { time, words } from "../state/format.ts";
import { config, hello, log, status } from "../state/store.ts";
import { adviceFor, docsLink } from "./advice.ts";
import { Copy } from "./copy.tsx";
import { Interrupted } from "./interrupted.tsx";
import { failureReport, tail } from "./report.ts";

const failed = computed(() => status.value.status === "failed");

export function Failed() {
  return failed.value ? <Panel /> : null;
}

function Panel() {
  const run = status.value;
  const details = run.error_details;
  const code = details?.code ?? "UNKNOWN";
  const { meaning, next } = adviceFor(code);
  const lines = tail(details, log.value);
  return (
    <div role="alert" class="failed">
      <h2>The run failed: <code>{code}</code></h2>
      <p class="failed-message">{run.error}</p>
      <p>{meaning} <strong>What to do:</strong> {next} <a href={docsLink(code)}>More about {code}</a></p>
      <dl class="facts">{facts().map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      {code === "RUN_INTERRUPTED" && <Interrupted />}
      {lines.length > 0 && (
        <>
          <h3 id="log-tail">{details?.log_tail.length ? "Last lines of the strategy" : "Last lines of the log"}</h3>
          <pre class="tail" role="region" aria-labelledby="log-tail" aria-live="off" tabIndex={0}>{lines.join("\n")}</pre>
        </>
      )}
      <p><Copy what="report" text={() => failureReport(status.peek(), config.peek(), hello.peek(), log.peek())}>Copy report</Copy></p>
    </div>
  );
}

function facts(): [string, string][] {
  const details = status.value.error_details;
  const list: [string, string][] = [["Phase", details?.phase || "unknown"]];
  list.push(["Candle", details?.candle_time ? time(details.candle_time) + " UTC" : "none"]);
  list.push(["Exit code", details?.plugin_exit_code === null || details?.plugin_exit_code === undefined ? "none" : String(details.plugin_exit_code)]);
  if (details?.code === "RUN_INTERRUPTED") return list;
  for (const [key, value] of Object.entries(details?.data ?? {})) list.push([words(key), typeof value === "string" ? value : JSON.stringify(value)]);
  return list;
}
