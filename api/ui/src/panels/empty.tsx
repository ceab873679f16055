// What the page shows before the first run.
import { computed, useSignal } from "@preact/signals";
import type { Strategy } from "../api/types.ts";
import { startSample } from "../form/form.tsx";
import { strategies } from "../state/store.ts";

const available = computed(() => strategies.value?.filter((s) => s.status === "available").length);
const unavailable = computed(() => strategies.value?.filter((s) => s.status !== "available") ?? []);

export function Empty() {
  return (
    <>
      {available.value === 0 ? <NoStrategies /> : <Steps />}
      {unavailable.value.length > 0 && <Unavailable list={unavailable.value} />}
    </>
  );
}

function Steps() {
  const busy = useSignal(false);
  const problem = useSignal("");
  const run = async () => {
    if (busy.value) return;
    busy.value = true;
    problem.value = "";
    try {
      await startSample();
    } catch (e) {
      problem.value = (e as Error).message;
    } finally {
      busy.value = false;
    }
  };
  return (
    <section class="panel empty" aria-labelledby="empty-title">
      <h2 id="empty-title">No run yet</h2>
      <ol>
        <li><strong>Choose a strategy</strong> and its parameters in “New run”.</li>
        <li><strong>Choose market and window</strong>: symbols, timeframe, exchange, from and to.</li>
        <li><strong>Start</strong>: chart, tables and metrics fill while the run goes on.</li>
      </ol>
      <p>Or see it at once: the bundled strategy on the bundled candles, BTC/USDT 1h.</p>
      <p><button type="button" class="primary" aria-disabled={busy.value} onClick={run}>{busy.value ? "Starting…" : "Run the sample"}</button></p>
      <div role="alert">{problem.value && <p class="problem">{problem.value}</p>}</div>
    </section>
  );
}

function NoStrategies() {
  return (
    <section class="panel empty" aria-labelledby="empty-title">
      <h2 id="empty-title">No strategy is available</h2>
      <ol>
        <li><strong>Build one</strong>: <code>make build</code> puts the example strategies into <code>bin/strategies</code>; your own is a Go program that calls <code>serve.Strategy</code> of the SDK.</li>
        <li><strong>Put it into the strategies folder</strong>: <code>bin/strategies</code>, or what <code>--strategies</code> names.</li>
        <li><strong>Restart the service to load it</strong>: the folder is read once, at its start.</li>
      </ol>
    </section>
  );
}

function Unavailable({ list }: { list: Strategy[] }) {
  return (
    <section class="panel empty" aria-labelledby="unavailable-title">
      <h2 id="unavailable-title">Unavailable strategies ({list.length})</h2>
      <ul class="open-list">
        {list.map((s) => <li key={s.name}><strong>{s.display_name || s.name}</strong> <code>{s.error?.code}</code> {s.error?.message}</li>)}
      </ul>
    </section>
  );
}
