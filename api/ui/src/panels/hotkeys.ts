// Keys that work anywhere on the page.
import { shortcuts, nextTheme } from "../state/theme.ts";
import { dialog, tab, tabs } from "../state/view.ts";
import { action, type Action } from "./keys.ts";
import { askReset } from "./reset.tsx";
import { askStop } from "./stop.ts";

/** Starts listening; the returned function ends it. */
export function listen(): () => void {
  const onKey = (e: KeyboardEvent) => {
    if (e.defaultPrevented || e.repeat) return;
    const meant = action({ key: e.key, ctrlKey: e.ctrlKey, altKey: e.altKey, metaKey: e.metaKey, typing: typing(e.target) }, shortcuts.value);
    if (!meant) return;
    e.preventDefault();
    act(meant);
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}

function typing(target: EventTarget | null): boolean {
  if (document.querySelector("dialog[open]")) return true;
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, select, textarea"));
}

function act(meant: Action) {
  switch (meant.do) {
    case "help":
      dialog.value = "help";
      break;
    case "stop":
      askStop();
      break;
    case "reset":
      void askReset();
      break;
    case "theme":
      nextTheme();
      break;
    case "tab":
      tab.value = tabs[meant.index] ?? tab.value;
  }
}
