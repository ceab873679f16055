// One line: how far the run is, or how it ended.
import { computed } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Status } from "../api/types.ts";
import { serviceTime } from "../state/clock.ts";
import { count, duration } from "../state/format.ts";
import { lastKnown } from "../state/fresh.ts";
import { config, connection, exchanges, results, status, strategyName } from "../state/store.ts";
import { useNow } from "./clock.ts";
import { Icon } from "./icon.tsx";
import { trialsOf } from "./numbers.ts";
import { backtestWords, candleWords, endWords, paramsWords, phaseWords } from "./sentences.ts";

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
      <p>{backtestWords(now).map((part) => <span key={part}>{part}</span>)}<Params /></p>
    </section>
  );
}

/** The venue's clock may be of its own making: then only how long ago a candle came tells its age. */
const simulated = computed(() => ["sim", "store"].includes(exchanges.value?.find((e) => e.id === config.value?.exchange)?.connector ?? ""));

/** When the newest candle came, by performance.now(); 0 while that is not known. */
function useArrival(run: Status): number {
  const last = useRef({ id: run.run_id, time: run.simulated_time, at: 0 });
  const { id, time } = last.current;
  if (id !== run.run_id || time !== run.simulated_time) {
    last.current = { id: run.run_id, time: run.simulated_time, at: id === run.run_id ? performance.now() : 0 };
  }
  return last.current.at;
}

const heard = computed(() => !lastKnown.value && connection.value.state !== "reconnecting");

/** Paper and live have no end to measure against. */
function OpenEnded() {
  // Its clock stands still while it is unknown whether the run goes on.
  const running = useNow(heard.value);
  const now = serviceTime(heard.value ? running : connection.value.lastData), run = status.value;
  const came = useArrival(run), known = simulated.value && came > 0 ? serviceTime(came) : null;
  const runtime = run.start_time ? Math.max(0, now - Date.parse(run.start_time)) / 1000 : run.runtime_seconds;
  return (
    <section class="panel progress" aria-label="Progress">
      <p>
        <span>{phaseWords(run.phase)}</span>
        <span>running for {duration(runtime)}{!heard.value && " when last heard of"}</span>
        <span>{candleWords(run, simulated.value, known, now)}</span>
        <Params />
      </p>
    </section>
  );
}

function Ended() {
  const run = status.value;
  if (run.status === "idle") return null;
  const trials = trialsOf(results.value);
  return (
    <section class="panel progress" aria-label="Outcome">
      <p>
        <strong class="state"><Icon name={run.status === "failed" ? "cross" : "check"} />{run.status}</strong>
        {endWords(run, config.value, strategyName.value).map((part) => <span key={part}>{part}</span>)}
        <Params />
        {trials && <span>trial {count(trials.position)} of {count(trials.n)} on these candles</span>}
      </p>
    </section>
  );
}

/** What the run is played with, which the form beside it need not be. */
const params = computed(() => paramsWords(config.value));
const Params = () => (params.value ? <span data-params>{params.value}</span> : null);
