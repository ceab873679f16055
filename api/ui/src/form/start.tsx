// The end of the form: Start with the reason why not, and what came of it.
import { computed } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Problem } from "../panels/problem.tsx";
import { words } from "../state/format.ts";
import { connection, ended, resetOnly, status } from "../state/store.ts";
import { formOpen } from "../state/view.ts";
import { reset, submit, whyNot } from "./actions.ts";
import { Box } from "./box.tsx";
import { Conflict } from "./conflict.tsx";
import { focusField } from "./control.tsx";
import * as draft from "./draft.ts";
import { ListProblems } from "./lists.tsx";
import { calls, conflict, mistakes, refusal, sending } from "./outcome.ts";

/** The empty page has the lists' problem itself, beside or below the form. */
const empty = computed(() => status.value.status === "idle" && connection.value.lastData > 0);

export function Start() {
  const why = whyNot.value, live = draft.mode.value === "live";
  const verb = live ? "start live" : "start";
  const start = useRef<HTMLButtonElement>(null);
  return (
    <>
      <Summary />
      {(!empty.value || formOpen.value) && <ListProblems alert={!empty.value} />}
      <div class="start">
        <div class="buttons">
          <button
            ref={start} type="button" class={live ? "danger" : "primary"} aria-disabled={why ? "true" : undefined} aria-describedby="why-not"
            onClick={() => void submit()}
          >
            {ended.value && !resetOnly.value ? `Replace and ${verb}` : words(verb)}
          </button>
          {ended.value && <Reset next={start} />}
        </div>
        <p id="why-not" class="caption">{why || "Ctrl+Enter starts, too."}</p>
      </div>
    </>
  );
}

/** Goes with the run; the focus goes to the button beside it. */
function Reset({ next }: { next: RefObject<HTMLButtonElement | null> }) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const here = button.current;
    return () => {
      if (here === document.activeElement) next.current?.focus();
    };
  }, []);
  return <button ref={button} type="button" aria-disabled={sending.value ? "true" : undefined} onClick={() => void reset()}>Reset</button>;
}

/** Why the last start was refused; it takes the focus and leads to the fields. */
function Summary() {
  const box = useRef<HTMLDivElement>(null);
  const call = calls.value;
  useEffect(() => {
    if (call) box.current?.focus();
  }, [call]);
  if (conflict.value) return <Box box={box} alert><Conflict /></Box>;
  const refused = refusal.value, wrong = mistakes.value, rest = refused?.rest ?? [];
  if (!refused && !wrong.length) return null;
  return (
    <Box box={box} alert>
      <p><strong>{refused ? <Problem error={refused.error} /> : wrong.length === 1 ? "One field is not right yet." : `${wrong.length} fields are not right yet.`}</strong></p>
      {refused?.more.map((t) => <p key={t}><bdi>{t}</bdi></p>)}
      {wrong.length + rest.length > 0 && (
        <ul>
          {wrong.map((m) => <li key={m.pointer}><button type="button" class="link" onClick={() => focusField(m.pointer)}><bdi>{m.label}</bdi></button>: <bdi>{m.message}</bdi></li>)}
          {rest.map((t) => <li key={t}><bdi>{t}</bdi></li>)}
        </ul>
      )}
      {refused && refused.logTail.length > 0 && <details><summary>Log of the plugin</summary><pre class="mono" tabIndex={0}>{refused.logTail.join("\n")}</pre></details>}
      {refused && <p class="caption"><Code code={refused.error.code} /></p>}
    </Box>
  );
}

/** The code, leading to what the documentation says of it; the page's own codes are not in there. */
function Code({ code }: { code: string }) {
  if (code === "NETWORK" || code === "UNKNOWN" || code === "BROWSER") return <>{code}</>;
  return <a href={"/docs/errors#" + code.toLowerCase().replaceAll("_", "-")}>{code}</a>;
}
