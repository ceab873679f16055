// The focus must not get lost when what has it goes away.
import { useLayoutEffect } from "preact/hooks";

/** Puts the focus on the run when the element that had it is gone. */
export function keepFocus() {
  queueMicrotask(() => {
    const at = document.activeElement;
    if (!at || at === document.body) document.getElementById("run")?.focus({ preventScroll: true });
  });
}

/** For an element that may go while it has the focus. */
export function useKeepFocus(ref: { readonly current: HTMLElement | null }) {
  useLayoutEffect(() => {
    const element = ref.current;
    return () => {
      if (element && element.contains(document.activeElement)) keepFocus();
    };
  }, []);
}
