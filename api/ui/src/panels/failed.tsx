// Why the run failed and what to do next.
import { computed } from "@preact/signals";
import { time, words } from "../state/format.ts";
import { config, hello, log, status, strategies } from "../state/store.ts";
import { adviceFor, docsLink } from "./advice.ts";
import { Copy } from "./copy.tsx";
import { Interrupted } from "./interrupted.tsx";
import { failureReport, tail } from "./report.ts";

const failed = computed(() => status.value.status === "failed");

export function Failed() {
  return failed.value ? <Panel /> : null;
}

const report = () => failureReport(status.peek(), config.peek(), strategies.peek(), hello.peek(), log.peek());

function Panel() {
  const run = status.value;
  const details = run.error_details;
  const code = details?.code ?? "UNKNOWN";
  const { meaning, next } = adviceFor(code);
  const lines = tail(details, log.value), known = facts();
  return (
    <div class="failed">
      <div role="alert">
        <h2>The run failed: <code>{code}</code></h2>
        <p class="failed-message"><bdi>{run.error}</bdi></p>
        <p>{meaning} <strong>What to do:</strong> {next} <a href={docsLink(code)}>More about {code}</a></p>
        <dl class="facts">{known.filter((fact) => !long(fact)).map(([name, value]) => <div key={name}><dt>{name}</dt><dd><bdi>{value}</bdi></dd></div>)}</dl>
        {lines.length > 0 && (
          <>
            <h3 id="log-tail">{details?.log_tail.length ? "Last lines of the strategy" : "Last lines of the log"}</h3>
            <pre class="tail" role="region" aria-labelledby="log-tail" aria-live="off" tabIndex={0} ref={newest}>{lines.join("\n")}</pre>
          </>
        )}
        <p><Copy what="report" text={report}>Copy report</Copy></p>
      </div>
      {code === "RUN_INTERRUPTED" && <Interrupted />}
      {known.filter(long).map(([name, value]) => <Folded key={name} name={name} text={value} />)}
    </div>
  );
}

/** The end of a log is what says why. */
function newest(element: HTMLElement | null) {
  if (element) element.scrollTop = element.scrollHeight;
}

type Fact = [name: string, value: string];

/** A stack is not to be read out with the alert. */
const long = ([, value]: Fact): boolean => value.includes("\n") || value.length > 300;

function Folded({ name, text }: { name: string; text: string }) {
  return <details><summary>{name}</summary><pre class="tail" role="region" aria-label={name} tabIndex={0}>{text}</pre></details>;
}

function facts(): Fact[] {
  const details = status.value.error_details;
  const list: Fact[] = [["Phase", details?.phase || "unknown"]];
  list.push(["Candle", details?.candle_time ? time(details.candle_time) + " UTC" : "none"]);
  list.push(["Exit code", details?.plugin_exit_code === null || details?.plugin_exit_code === undefined ? "none" : String(details.plugin_exit_code)]);
  if (details?.code === "RUN_INTERRUPTED") return list;
  for (const [key, value] of Object.entries(details?.data ?? {})) list.push([words(key), typeof value === "string" ? value : JSON.stringify(value)]);
  return list;
}
