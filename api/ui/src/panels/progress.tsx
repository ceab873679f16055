// One line: how far the run is, or how it ended.
import { computed } from "@preact/signals";
import { serviceTime } from "../state/clock.ts";
import { duration, time } from "../state/format.ts";
import { lastKnown } from "../state/fresh.ts";
import { config, connection, status } from "../state/store.ts";
import { useNow } from "./clock.ts";
import { Icon } from "./icon.tsx";
import { ageWords, backtestWords, endWords, phaseWords } from "./sentences.ts";

const view = computed(() => (status.value.status !== "running" ? "ended" : status.value.mode === "backtest" ? "backtest" : "open"));

export function Progress() {
  switch (view.value) {
    case "backtest":
      return <Backtest />;
    case "open":
      return <OpenEnded />;
    default:
      return <Ended />;
  }
}

function Backtest() {
  const now = status.value;
  const share = Math.min(1, Math.max(0, now.progress ?? 0));
  const percent = Math.floor(share * 100);
  return (
    <section class="panel progress" aria-label="Progress">
      <div role="progressbar" aria-label="Candles done" aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent} aria-valuetext={`${percent} %`}>
        <div style={{ width: `${share * 100}%` }} />
      </div>
      <p>{backtestWords(now).map((part) => <span key={part}>{part}</span>)}</p>
    </section>
  );
}

const heard = computed(() => !lastKnown.value && connection.value.state !== "reconnecting");

/** Paper and live have no end to measure against. */
function OpenEnded() {
  // Its clock stands still while nobody knows whether the run goes on.
  const running = useNow(heard.value);
  const now = serviceTime(heard.value ? running : connection.value.lastData), run = status.value;
  const runtime = run.start_time ? Math.max(0, now - Date.parse(run.start_time)) / 1000 : run.runtime_seconds;
  return (
    <section class="panel progress" aria-label="Progress">
      <p>
        <span>{phaseWords(run.phase)}</span>
        <span>running for {duration(runtime)}{!heard.value && " when last heard of"}</span>
        <span>{run.simulated_time ? `last candle closed ${time(run.simulated_time)} UTC, ${ageWords(run.simulated_time, now)}` : "no candle yet"}</span>
      </p>
    </section>
  );
}

function Ended() {
  const run = status.value;
  if (run.status === "idle") return null;
  return (
    <section class="panel progress" aria-label="Outcome">
      <p>
        <strong class="state"><Icon name={run.status === "failed" ? "cross" : "check"} />{run.status}</strong>
        {endWords(run, config.value).map((part) => <span key={part}>{part}</span>)}
      </p>
    </section>
  );
}
