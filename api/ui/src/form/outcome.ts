// What came of pressing Start, and what of it each field shows.
import { computed, signal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";
import type { ApiError } from "../api/client.ts";
import type { Status } from "../api/types.ts";
import { status } from "../state/store.ts";
import { confirmation } from "./draft.ts";
import { findings, labels } from "./model.ts";
import { land } from "./refusal.ts";

/** A run that stands in the way of a start, as the refusal described it. */
export interface Conflict {
  message: string;
  /** Why the last attempt to stop or reset it failed. */
  failure?: ApiError | undefined;
  runId: string;
  /** idle once it has been reset. */
  status: string;
  mode: string;
  /** What the page knew then: whatever comes later is newer than the refusal. */
  seen: Status;
}

/** A start that did not happen. */
export interface Refusal {
  error: ApiError;
  /** Reason and hint, where the service gives them. */
  more: string[];
  /** Mistakes that no field has. */
  rest: string[];
  logTail: string[];
}

export const sending = signal(false);
/** Whether Start was pressed: from then on every field says what is wrong with it. */
export const attempted = signal(false);
export const conflict = signal<Conflict | null>(null);
export const refusal = signal<Refusal | null>(null);
/** What the service said about fields, until they change. */
const landed = signal<ReadonlyMap<string, string>>(new Map());
const left = signal<ReadonlySet<string>>(new Set());
/** Increases when the summary should take the focus. */
export const calls = signal(0);

export interface Shown {
  message: string;
  /** A mistake, not a remark. */
  wrong: boolean;
}

const byPointer = computed(() => new Map(findings.value.map((f) => [f.pointer, f])));

/** What a field shows below it. Mistakes of typing wait until the field was left. */
export function shownAt(pointer: string): ReadonlySignal<Shown | null> {
  const text = computed(() => {
    const said = landed.value.get(pointer);
    if (said !== undefined) return "!" + said;
    const found = byPointer.value.get(pointer);
    if (!found || !(attempted.value || left.value.has(pointer) || !found.certain)) return "";
    return (found.certain ? "!" : "?") + found.message;
  });
  // The text is compared, so that a field renders only when its own message changes.
  return computed(() => (text.value ? { message: text.value.slice(1), wrong: text.value.startsWith("!") } : null));
}

export function leave(pointer: string) {
  if (!left.peek().has(pointer)) left.value = new Set(left.peek()).add(pointer);
}

/** Fields that the service judges together: a change of one voids what it said of the others. */
const together = ["/mode", "/strategy_name", "/symbols", "/timeframe", "/exchange", "/start_date", "/end_date"];
const group = (pointer: string) => (together.includes(pointer) ? "" : pointer.split("/")[1]);

/** To be called with every change by the person. */
export function edited(pointer: string) {
  // Real money is confirmed for the form as it stood.
  if (pointer !== "/confirmation") confirmation.value = "";
  if (!landed.peek().size) return;
  landed.value = new Map([...landed.peek()].filter(([at]) => group(at) !== group(pointer)));
  // A refusal that was about nothing else is answered.
  if (!landed.peek().size && !refusal.peek()?.rest.length) refusal.value = null;
}

/** Forgets what the service said before. */
export function clear() {
  conflict.value = null;
  refusal.value = null;
  landed.value = new Map();
}

/** The form was in order and has been sent: what it lacks now was taken out of it. */
export function sent() {
  attempted.value = false;
  left.value = new Set();
}

/** Shows why a start was refused. */
export function refuse(e: ApiError) {
  const d = e.details;
  if (e.code === "RUN_ALREADY_ACTIVE") {
    conflict.value = { message: e.message, runId: text(d.run_id), status: text(d.status), mode: text(d.mode), seen: status.peek() };
  } else {
    const { at, rest } = land(e, new Set(labels.peek().keys()));
    landed.value = at;
    const more = [text(d.reason), text(d.hint)].filter((t) => t && !e.message.includes(t));
    refusal.value = { error: e, more, rest, logTail: Array.isArray(d.log_tail) ? d.log_tail.map(String) : [] };
  }
  calls.value++;
}

const text = (v: unknown) => (typeof v === "string" ? v : "");

interface Mistake {
  pointer: string;
  label: string;
  message: string;
}

/** The fields to look at, for the summary's links: what the service said, else what is wrong here. */
export const mistakes = computed<Mistake[]>(() => {
  if (!landed.value.size) return attempted.value && !refusal.value ? findings.value.filter((f) => f.certain) : [];
  const order = [...labels.value.keys()];
  const all = [...landed.value].map(([pointer, message]) => ({ pointer, message, label: labels.value.get(pointer) ?? pointer }));
  return all.sort((a, b) => order.indexOf(a.pointer) - order.indexOf(b.pointer));
});
