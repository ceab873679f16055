// Asking for what a page shows: loading, the answer, or why there is none.
import { signal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { ApiError, read } from "../api/client.ts";
import { connection } from "../state/store.ts";

export interface Answer<T> {
  /** null until it came; kept when a later attempt fails. */
  value: T | null;
  error: ApiError | null;
  loading: boolean;
}

export interface Asked<T> {
  answer: Signal<Answer<T>>;
  again: () => void;
}

/** What is shown of an answer: it, or what came before while it is asked for. */
export interface Shown<T> {
  answer: { value: Answer<T> };
  again: () => void;
}

/** After how many milliseconds an answer is asked for again; 0 for never. */
type Every<T> = number | ((value: T) => number);

/** Asks for a path, "" for nothing yet; a second time after a while, and when the service is back. What takes several requests has an ask of its own. */
export function useAnswer<T>(path: string, every: Every<T> = 0, ask: (path: string) => Promise<T> = read): Asked<T> {
  const asked = useMemo(() => watch<T>(path, every, ask), [path, every, ask]);
  useEffect(() => asked.start(), [asked]);
  return asked;
}

function watch<T>(path: string, every: Every<T>, ask: (path: string) => Promise<T>) {
  const answer = signal<Answer<T>>({ value: null, error: null, loading: true });
  let timer = 0, over = false, round = 0;
  const again = async () => {
    clearTimeout(timer);
    if (!path) return;
    const mine = ++round;
    answer.value = { ...answer.peek(), loading: true };
    let next: Answer<T>;
    try {
      next = { value: await ask(path), error: null, loading: false };
    } catch (e) {
      next = { value: answer.peek().value, error: e as ApiError, loading: false };
    }
    if (over || mine !== round) return;
    answer.value = next;
    const after = typeof every === "number" ? every : next.value === null ? 0 : every(next.value);
    if (after > 0) timer = setTimeout(seen, after);
  };
  /** A page that nobody looks at asks nothing until somebody does. */
  const seen = () => {
    if (!document.hidden) void again();
    else document.addEventListener("visibilitychange", () => over || seen(), { once: true });
  };
  const start = () => {
    over = false;
    void again();
    const back = connection.subscribe(({ state }) => {
      if (answer.peek().error?.lost && !answer.peek().loading && (state === "live" || state === "polling")) void again();
    });
    return () => {
      over = true;
      clearTimeout(timer);
      back();
    };
  };
  return { answer, again: () => void again(), start };
}
