// The page: header, the page of the address, footer. The runner is here, the other pages
// are a script of their own, which comes with the first of them.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Dialogs } from "./panels/dialogs.tsx";
import { Footer } from "./panels/footer.tsx";
import { Header } from "./panels/header.tsx";
import { listen } from "./panels/hotkeys.ts";
import { narrate } from "./panels/narrate.ts";
import { Runner } from "./runner.tsx";
import { follow, place, visits } from "./state/route.ts";
import { announcement } from "./state/view.ts";

type Pages = typeof import("./pages/index.tsx");
const pages = signal<Pages | null>(null);
/** They could not be fetched, such as after an update of the service: only a reload helps. */
const lost = signal(false);
let asked = false;

function fetchPages() {
  if (asked) return;
  asked = true;
  // The document has the names: this script and theirs cannot each be named after the other.
  Promise.all([import(named("pages")) as Promise<Pages>, styled(named("pages-style"))]).then(([it]) => (pages.value = it), () => (lost.value = true));
}

const named = (what: string) => document.querySelector<HTMLMetaElement>(`meta[name=assay-${what}]`)?.content ?? "";

function styled(href: string): Promise<void> {
  return new Promise((done, fail) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href, onload: () => done(), onerror: fail });
    document.head.append(link);
  });
}

export function App() {
  useEffect(follow, []);
  useEffect(narrate, []);
  useEffect(listen, []);
  const runner = place.value.page === "runner";
  return (
    <>
      <a class="skip" href={runner ? "#run" : "#page"}>{runner ? "Skip to the run" : "Skip to the page"}</a>
      <Header />
      {runner ? <Runner /> : <Page />}
      <Footer />
      <Dialogs />
      <p class="unseen" role="status">{announcement}</p>
    </>
  );
}

/** A page of the other script. It takes the focus when a link led here. */
function Page() {
  const ref = useRef<HTMLElement>(null);
  useEffect(fetchPages, []);
  useEffect(() => {
    if (visits.value > 0) ref.current?.focus();
  }, [visits.value]);
  const { page, id } = place.value;
  const Shown = page === "runner" ? undefined : pages.value?.pages[page];
  return (
    <main id="page" class="page" ref={ref} tabIndex={-1} data-page={page}>
      {Shown ? <Shown key={page + " " + id} id={id} />
        : pages.value ? <p class="panel none">This version of Assay does not have this page.</p>
        : lost.value ? <p class="panel none" role="alert">This page could not be loaded. Was the service updated? Reload the page.</p>
        : <p class="panel none">Loading…</p>}
    </main>
  );
}
