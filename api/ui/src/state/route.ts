// Where the person is: one document, many addresses. A link with an address of the table
// changes the page without a load, Back goes back, and the fragment keeps what the page
// shows of itself (filter, sort, tab), so that a copied address shows the same.
import { computed, effect, signal } from "@preact/signals";
import { placeOf, type Place } from "./address.ts";

const here = () => ({ path: location.pathname, query: location.search, fragment: location.hash.slice(1) });
const current = signal(here());

export const place = computed<Place>(() => placeOf(current.value.path) ?? { page: "runner", id: "" });
/** The query of the address. */
export const query = computed(() => new URLSearchParams(current.value.query));
/** What the page keeps of itself in the address. */
export const fragment = computed(() => new URLSearchParams(current.value.fragment));
/** Counts the pages that were gone to: a page puts the focus on itself when it rises. */
export const visits = signal(0);

/** Goes to an address of the table, or lets the browser load another one. */
export function go(to: string) {
  const url = new URL(to, location.href);
  if (url.origin !== location.origin || !placeOf(url.pathname)) return location.assign(url);
  history.pushState(null, "", url);
  arrived();
}

function arrived() {
  const before = current.peek().path + current.peek().query;
  current.value = here();
  if (before === location.pathname + location.search) return;
  visits.value++;
  scrollTo(0, 0);
}

/** Keeps values in the fragment, in the place of the present ones; "" removes one. */
export function keep(values: Record<string, string>) {
  const now = new URLSearchParams(fragment.peek());
  for (const [name, value] of Object.entries(values)) value === "" ? now.delete(name) : now.set(name, value);
  history.replaceState(null, "", location.pathname + location.search + (now.size ? "#" + now : ""));
  current.value = here();
}

/** What the page shows, for the title of the tab: its subject first. */
export const title = signal("");

/** Starts following links and Back; the returned function ends it. */
export function follow(): () => void {
  const click = (e: MouseEvent) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    const link = e.target instanceof Element ? e.target.closest("a") : null;
    if (!link || link.target || link.hasAttribute("download") || !placeOf(link.pathname) || link.origin !== location.origin) return;
    if (link.getAttribute("href")?.startsWith("#")) return;
    e.preventDefault();
    go(link.href);
  };
  document.addEventListener("click", click);
  addEventListener("popstate", arrived);
  const named = effect(() => {
    document.title = title.value ? `${title.value} · Assay` : "Assay";
  });
  return () => {
    document.removeEventListener("click", click);
    removeEventListener("popstate", arrived);
    named();
  };
}
