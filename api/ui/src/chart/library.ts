// The chart library is most of the page's weight and needed only when there is a run: it
// is a script of its own, fetched when the first chart appears.
import { signal } from "@preact/signals";

export type Library = typeof import("./charts.ts");

/** null until it has been fetched. */
export const library = signal<Library | null>(null);
/** It could not be fetched, such as after an update of the service: only a reload helps. */
export const unreachable = signal(false);

let asked = false;

export function fetchLibrary() {
  if (asked) return;
  asked = true;
  import("./charts.ts").then((it) => (library.value = it), () => (unreachable.value = true));
}
