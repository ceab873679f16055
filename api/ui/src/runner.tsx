// The page of the runner: form and run side by side.
import { computed, effect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Chart } from "./chart/chart.tsx";
import { Form } from "./form/form.tsx";
import { Alarms } from "./panels/alarms.tsx";
import { Controls } from "./panels/controls.tsx";
import { Empty } from "./panels/empty.tsx";
import { Failed } from "./panels/failed.tsx";
import { Progress } from "./panels/progress.tsx";
import { Tabs } from "./panels/tabs.tsx";
import { Tiles } from "./panels/tiles.tsx";
import { dated, stale } from "./state/fresh.ts";
import { title } from "./state/route.ts";
import { loadLists } from "./state/session.ts";
import { exchanges, known, status, strategies, strategyName } from "./state/store.ts";
import { followTab, formOpen } from "./state/view.ts";

/** What the tab of the browser is called: what runs, and how it stands. */
const called = computed(() => (known.value && status.value.status !== "idle" ? `${status.value.status} ${strategyName.value}`.trim() : ""));

export function Runner() {
  useEffect(followTab, []);
  useEffect(() => {
    if (!strategies.peek() || !exchanges.peek()) loadLists();
    return effect(() => {
      title.value = called.value;
    });
  }, []);
  return (
    <div class="columns">
      <FormColumn />
      <Run />
    </div>
  );
}
function FormColumn() {
  const close = (e: KeyboardEvent) => {
    if (e.key !== "Escape" || e.defaultPrevented || !formOpen.value) return;
    formOpen.value = false;
    document.getElementById("open-form")?.focus();
  };
  return (
    <>
      <button
        id="open-form" type="button" class="open-form" aria-expanded={formOpen.value} aria-controls="new-run"
        onClick={() => (formOpen.value = !formOpen.value)}
      >
        New run
      </button>
      <section id="new-run" class={formOpen.value ? "panel form open" : "panel form"} aria-labelledby="form-title" onKeyDown={close}>
        <h2 id="form-title" tabIndex={-1}>New run</h2>
        <Form />
      </section>
    </>
  );
}

const mode = computed(() => status.value.mode);
const idle = computed(() => status.value.status === "idle");

function Run() {
  if (!known.value) return <main id="run" tabIndex={-1}><p class="panel none">Waiting for the service…</p></main>;
  return (
    <main id="run" tabIndex={-1} data-stale={stale.value || undefined} data-dated={dated.value || undefined} data-mode={mode.value || undefined}>
      {idle.value ? <Empty /> : (
        <>
          <Failed />
          <Alarms />
          <Progress />
          <Controls />
          <Tiles />
          <Chart />
          <Tabs />
        </>
      )}
    </main>
  );
}
