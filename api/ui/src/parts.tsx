// The script of the other pages. It comes with the first of them, and with the metrics of the runner.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

type Parts = typeof import("./pages/index.tsx");
const parts = signal<Parts | null>(null);
/** They could not be fetched, such as after an update of the service: only a reload helps. */
const lost = signal(false);
let asked = false;

function fetchParts() {
  if (asked) return;
  asked = true;
  // The document has the names: this script and theirs cannot each be named after the other.
  Promise.all([import(named("pages")) as Promise<Parts>, styled(named("pages-style"))]).then(([it]) => (parts.value = it), () => (lost.value = true));
}

const named = (what: string) => document.querySelector<HTMLMetaElement>(`meta[name=assay-${what}]`)?.content ?? "";

function styled(href: string): Promise<void> {
  return new Promise((done, fail) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href, onload: () => done(), onerror: fail });
    document.head.append(link);
  });
}

/** The parts, once they are here. */
export function useParts(): Parts | null {
  useEffect(fetchParts, []);
  return parts.value;
}

/** Stands where a part will be. */
export const Awaited = () => lost.value
  ? <p class="panel none" role="alert">This page could not be loaded. Was the service updated? Reload the page.</p>
  : <p class="panel none">Loading…</p>;
