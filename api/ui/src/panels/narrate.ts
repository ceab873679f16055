// Says what changes to a person who does not see it: status, stream and notices at once,
// progress every tenth. Failures are alerts of their own.
import { effect } from "@preact/signals";
import type { Status } from "../api/types.ts";
import { signedMoney } from "../state/format.ts";
import { decimals } from "../state/money.ts";
import { connection, notice, quote, report, status, type Connection } from "../state/store.ts";
import { announce } from "../state/view.ts";
import { phaseWords } from "./sentences.ts";

/** What changes in the same moment is said in one go: a screen reader hears only the last of several changes. */
const together = 200;

/** Starts; the returned function ends it. */
export function narrate(): () => void {
  let before = status.peek(), tenth = 0, stream = connection.peek().state, noticed = notice.peek(), timer = 0, waiting: string[] = [];
  const flush = () => {
    timer = 0;
    // It may have been completed since.
    if (notice.peek() !== noticed) waiting.unshift((noticed = notice.peek()).replace(/\.$/, ""));
    const said = waiting.filter(Boolean).join(". ");
    waiting = [];
    if (said) announce(said);
  };
  const soon = () => (timer ||= setTimeout(flush, together));
  const say = (words: string) => {
    waiting.push(words);
    if (words) soon();
  };
  const endStatus = effect(() => {
    const now = status.value;
    if (now.run_id !== before.run_id) tenth = 0;
    const said = changeWords(before, now, quote.peek(), decimals.peek());
    const reached = Math.floor((now.progress ?? 0) * 10);
    if (said) say(said);
    else if (now.status === "running" && reached > tenth) say(`${reached * 10} percent`);
    tenth = reached;
    before = now;
  });
  const endStream = effect(() => {
    const now = connection.value.state;
    say(now === stream ? "" : streamWords(stream, now));
    stream = now;
  });
  let warned = new Set<string>(), warnedRun = "";
  const endWarnings = effect(() => {
    const list = report.value.warnings, { run_id, mode, status: now } = status.peek();
    const fresh = list.filter((w) => !warned.has(w.code));
    // Each kind once: some come with every candle.
    if (now === "running" && mode !== "backtest" && run_id === warnedRun) for (const w of fresh.slice(-1)) say(`Warning: ${w.message}`);
    [warned, warnedRun] = [new Set(list.map((w) => w.code)), run_id];
  });
  const endNotice = effect(() => {
    if (notice.value !== noticed) soon();
  });
  return () => {
    for (const end of [endStatus, endStream, endWarnings, endNotice, () => clearTimeout(timer)]) end();
  };
}

/** What to say about a change of status, "" for nothing. */
export function changeWords(before: Status, now: Status, quote: string, decimals = 2): string {
  const name = now.mode ? now.mode.charAt(0).toUpperCase() + now.mode.slice(1) : "Run";
  if (now.status !== before.status) {
    if (now.status === "running") return `${name} running`;
    if (now.status === "completed") return `${name} completed: ${now.stop_reason}. PnL ${signedMoney(now.pnl, decimals)} ${quote}`.trim();
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
