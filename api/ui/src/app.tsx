// The page: header, banners, form and run side by side, footer.
import { computed } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Chart } from "./chart/chart.tsx";
import { Form } from "./form/form.tsx";
import { Alarms } from "./panels/alarms.tsx";
import { Controls } from "./panels/controls.tsx";
import { Dialogs } from "./panels/dialogs.tsx";
import { Empty } from "./panels/empty.tsx";
import { Failed } from "./panels/failed.tsx";
import { Footer } from "./panels/footer.tsx";
import { Header } from "./panels/header.tsx";
import { listen } from "./panels/hotkeys.ts";
import { narrate } from "./panels/narrate.ts";
import { Progress } from "./panels/progress.tsx";
import { Tabs } from "./panels/tabs.tsx";
import { Tiles } from "./panels/tiles.tsx";
import { dated, stale } from "./state/fresh.ts";
import { known, status } from "./state/store.ts";
import { announcement, formOpen } from "./state/view.ts";

export function App() {
  useEffect(narrate, []);
  useEffect(listen, []);
  return (
    <>
      <a class="skip" href="#run">Skip to the run</a>
      <Header />
      <div class="columns">
        <FormColumn />
        <Run />
      </div>
      <Footer />
      <Dialogs />
      <p class="unseen" role="status">{announcement}</p>
    </>
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
