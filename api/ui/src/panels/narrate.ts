// Says what changes to a person who does not see it: status and stream at once, progress
// every tenth. Failures are alerts of their own.
import { effect } from "@preact/signals";
import type { Status } from "../api/types.ts";
import { signedMoney } from "../state/format.ts";
import { connection, quote, status, type Connection } from "../state/store.ts";
import { announce } from "../state/view.ts";
import { phaseWords } from "./sentences.ts";

/** Starts; the returned function ends it. */
export function narrate(): () => void {
  let before = status.peek(), tenth = 0, stream = connection.peek().state;
  const endStatus = effect(() => {
    const now = status.value;
    if (now.run_id !== before.run_id) tenth = 0;
    const said = changeWords(before, now, quote.peek());
    const reached = Math.floor((now.progress ?? 0) * 10);
    if (said) announce(said);
    else if (now.status === "running" && reached > tenth) announce(`${reached * 10} percent`);
    tenth = reached;
    before = now;
  });
  const endStream = effect(() => {
    const now = connection.value.state;
    const said = now === stream ? "" : streamWords(stream, now);
    stream = now;
    if (said) announce(said);
  });
  return () => {
    endStatus();
    endStream();
  };
}

/** What to say about a change of status, "" for nothing. */
export function changeWords(before: Status, now: Status, quote: string): string {
  const name = now.mode ? now.mode.charAt(0).toUpperCase() + now.mode.slice(1) : "Run";
  if (now.status !== before.status) {
    if (now.status === "running") return `${name} running`;
    if (now.status === "completed") return `${name} completed: ${now.stop_reason}. PnL ${signedMoney(now.pnl)} ${quote}`.trim();
    return now.status === "idle" ? "No run" : "";
  }
  const worth = ["reducing", "halted", "stopping"];
  return now.phase !== before.phase && (worth.includes(now.phase) || worth.includes(before.phase)) ? phaseWords(now.phase) : "";
}

export function streamWords(before: Connection["state"], now: Connection["state"]): string {
  switch (now) {
    case "live":
      return before === "connecting" ? "" : "Live updates again";
    case "reconnecting":
      return "Connection lost: reconnecting";
    case "polling":
      return "Live updates are not available: asking every 2 seconds";
    case "down":
      return "The service does not answer";
    default:
      return "";
  }
}
