// The page: header, the page of the address, footer. The runner is here, the other pages
// are a script of their own, which comes with the first of them.
import { useEffect, useRef } from "preact/hooks";
import { Dialogs } from "./panels/dialogs.tsx";
import { Footer } from "./panels/footer.tsx";
import { Header } from "./panels/header.tsx";
import { listen } from "./panels/hotkeys.ts";
import { narrate } from "./panels/narrate.ts";
import { Awaited, useParts } from "./parts.tsx";
import { Runner } from "./runner.tsx";
import { follow, place, visits } from "./state/route.ts";
import { announcement } from "./state/view.ts";

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
  const parts = useParts();
  useEffect(() => {
    if (visits.value > 0) ref.current?.focus();
  }, [visits.value]);
  const { page, id } = place.value;
  const Shown = page === "runner" ? undefined : parts?.pages[page];
  return (
    <main id="page" class="page" ref={ref} tabIndex={-1} data-page={page}>
      {Shown ? <Shown key={page + " " + id} id={id} />
        : parts ? <p class="panel none">This version of Assay does not have this page.</p>
        : <Awaited />}
    </main>
  );
}
