// What the person has opened: nothing here comes from the service.
import { effect, signal } from "@preact/signals";
import { fragment, keep, place } from "./route.ts";

export const tabs = ["trades", "orders", "fills", "positions", "metrics", "evidence", "log"] as const;
export type Tab = (typeof tabs)[number];

const named = (name: string | null): Tab => tabs.find((t) => t === name) ?? "trades";
export const tab = signal<Tab>(named(place.peek().page === "runner" ? fragment.peek().get("tab") : null));

/** Keeps the tab of the runner in its address, and follows the address; the returned function ends it. */
export function followTab(): () => void {
  const stops = [
    effect(() => {
      const name = tab.value === "trades" ? "" : tab.value;
      // The order is that of the tab's table.
      if (place.peek().page === "runner" && (fragment.peek().get("tab") ?? "") !== name) keep({ tab: name, sort: "" });
    }),
    effect(() => {
      if (place.value.page === "runner" && fragment.value.has("tab")) tab.value = named(fragment.value.get("tab"));
    }),
  ];
  return () => stops.forEach((stop) => stop());
}
/** Below 900 px the form is behind a button. */
export const formOpen = signal(false);
export const dialog = signal<"help" | "stop" | null>(null);
/** Symbol of the candle pane; "" is the first of the run. */
export const symbol = signal("");
/** The words that a screen reader hears next, politely. */
export const announcement = signal("");

/** Says words politely, also when they are the same as before. */
export function announce(words: string) {
  // A live region is silent when its text does not change.
  announcement.value = words === announcement.peek() ? words + "\u00a0" : words;
}
