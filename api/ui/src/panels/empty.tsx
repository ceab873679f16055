// What the page shows before the first run.
import { computed, useSignal } from "@preact/signals";
import { sample, startSample } from "../form/form.tsx";
import { ListProblems } from "../form/lists.tsx";
import { address } from "../state/address.ts";
import { strategies } from "../state/store.ts";
import { Problem } from "./problem.tsx";
import { unavailable, UnavailableList } from "./unavailable.tsx";

const available = computed(() => strategies.value?.filter((s) => s.status === "available").length);

export function Empty() {
  return (
    <>
      {available.value === 0 ? <NoStrategies /> : <Steps />}
      {unavailable.value.length > 0 && <Unavailable />}
    </>
  );
}

function Steps() {
  const offer = sample.value, ready = typeof offer !== "string";
  const busy = useSignal(false);
  const problem = useSignal<Error | null>(null);
  const run = async () => {
    if (busy.value || !ready) return;
    busy.value = true;
    problem.value = null;
    try {
      await startSample();
    } catch (e) {
      problem.value = e as Error;
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
      <p id="sample">
        {ready ? (
          <>Or see it at once: <bdi>{offer.strategy.display_name || offer.strategy.name}</bdi> on <bdi>{offer.venue.name || offer.venue.id}</bdi>, {offer.symbol} {offer.timeframe}.</>
        ) : offer}
      </p>
      <ListProblems alert />
      <p><button type="button" class="primary" aria-disabled={busy.value || !ready} aria-describedby="sample" onClick={run}>{busy.value ? "Starting…" : "Run the sample"}</button> <a href={address("runs")}>Earlier runs</a></p>
      <div role="alert">{problem.value && <p class="problem"><Problem error={problem.value} /></p>}</div>
    </section>
  );
}

function NoStrategies() {
  return (
    <section class="panel empty" aria-labelledby="empty-title">
      <h2 id="empty-title">No strategy is available</h2>
      <ol>
        <li><strong>Build one</strong>: <code>make build</code> puts the example strategies into <code>bin/strategies</code>; <code>lab init strategy</code> begins your own, in Go or, with <code>--python</code>, in Python.</li>
        <li><strong>Put it into the strategies folder</strong>: <code>bin/strategies</code>, or what <code>--strategies</code> names.</li>
        <li><strong>Restart the service to load it</strong>: the folder is read once, at its start.</li>
      </ol>
    </section>
  );
}

function Unavailable() {
  return (
    <section class="panel empty" aria-labelledby="unavailable-title">
      <h2 id="unavailable-title">Unavailable strategies ({unavailable.value.length})</h2>
      <UnavailableList />
    </section>
  );
}
