// The end of the form: Start with the reason why not, and what came of it.
import { useEffect, useRef } from "preact/hooks";
import { words } from "../state/format.ts";
import { ended } from "../state/store.ts";
import { reset, submit, whyNot } from "./actions.ts";
import { Conflict } from "./conflict.tsx";
import { focusField } from "./control.tsx";
import * as draft from "./draft.ts";
import { calls, conflict, mistakes, refusal, sending } from "./outcome.ts";

export function Start() {
  const why = whyNot.value, live = draft.mode.value === "live";
  const verb = live ? "start live" : "start";
  return (
    <>
      <Summary />
      <div class="start">
        <div class="buttons">
          <button type="button" class={live ? "danger" : "primary"} aria-disabled={why ? "true" : undefined} aria-describedby="why-not" onClick={() => void submit()}>
            {ended.value ? `Reset and ${verb}` : words(verb)}
          </button>
          {ended.value && <button type="button" aria-disabled={sending.value ? "true" : undefined} onClick={() => void reset()}>Reset</button>}
        </div>
        <p id="why-not" class="caption">{why || "Ctrl+Enter starts, too."}</p>
      </div>
    </>
  );
}

/** Why the last start was refused; it takes the focus and leads to the fields. */
function Summary() {
  const box = useRef<HTMLDivElement>(null);
  const call = calls.value;
  useEffect(() => {
    if (call) box.current?.focus();
  }, [call]);
  if (conflict.value) return <div ref={box} tabIndex={-1} role="alert" class="summary"><Conflict /></div>;
  const refused = refusal.value, wrong = mistakes.value, rest = refused?.rest ?? [];
  if (!refused && !wrong.length) return null;
  return (
    <div ref={box} tabIndex={-1} role="alert" class="summary">
      <p><strong>{refused ? refused.message : wrong.length === 1 ? "One field is not right yet." : `${wrong.length} fields are not right yet.`}</strong></p>
      {refused?.more.map((t) => <p key={t}>{t}</p>)}
      {wrong.length + rest.length > 0 && (
        <ul>
          {wrong.map((m) => <li key={m.pointer}><button type="button" class="link" onClick={() => focusField(m.pointer)}>{m.label}</button>: {m.message}</li>)}
          {rest.map((t) => <li key={t}>{t}</li>)}
        </ul>
      )}
      {refused && refused.logTail.length > 0 && <details><summary>Log of the plugin</summary><pre class="mono" tabIndex={0}>{refused.logTail.join("\n")}</pre></details>}
      {refused && <p class="caption"><Code code={refused.code} /></p>}
    </div>
  );
}

/** The code, leading to what the documentation says of it; the page's own codes are not in there. */
function Code({ code }: { code: string }) {
  if (code === "NETWORK" || code === "UNKNOWN" || code === "BROWSER") return <>{code}</>;
  return <a href={"/docs/errors#" + code.toLowerCase().replaceAll("_", "-")}>{code}</a>;
}
