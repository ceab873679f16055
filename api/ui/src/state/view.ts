// What the person has opened: nothing here comes from the service.
import { signal } from "@preact/signals";

export const tabs = ["trades", "orders", "fills", "positions", "metrics", "evidence", "log"] as const;
export type Tab = (typeof tabs)[number];

export const tab = signal<Tab>("trades");
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
