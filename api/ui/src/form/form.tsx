// The start form, in the order in which a run is described.
import { useEffect, useRef } from "preact/hooks";
import { config, exchanges, known, running, strategies } from "../state/store.ts";
import { fill, submit } from "./actions.ts";
import * as draft from "./draft.ts";
import { complete } from "./fill.ts";
import { Live } from "./live.tsx";
import { Cash, Dates, Exchange, Symbols, Timeframe } from "./market.tsx";
import { Execution, PaperSettings, Parameters } from "./sections.tsx";
import { Start } from "./start.tsx";
import { Mode, Strategy } from "./strategy.tsx";

export { fill, sample, startSample } from "./actions.ts";

/** The start form. */
export function Form() {
  const lists = strategies.value && exchanges.value;
  const completed = useRef(false);
  useEffect(() => {
    // Once: what is emptied later was emptied on purpose.
    if (!strategies.value || !exchanges.value || completed.current) return;
    completed.current = true;
    complete(strategies.value, exchanges.value);
  }, [lists]);
  const followed = useRef(false), on = running.value, its = config.value;
  useEffect(() => {
    // Once, too: the form of a page that is opened on a run speaks of that run.
    if (!lists || !known.value || followed.current || (on && !its)) return;
    followed.current = true;
    if (!on || !its) return;
    if (draft.returning) draft.mode.value = its.mode === "paper" || its.mode === "live" ? its.mode : "backtest";
    else fill(its);
  }, [lists, known.value, on, its]);
  const key = (e: KeyboardEvent) => {
    if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey) || e.isComposing) return;
    e.preventDefault();
    void submit();
  };
  const mode = draft.mode.value;
  return (
    <form class={mode === "live" ? "run-form live" : "run-form"} aria-labelledby="form-title" noValidate onSubmit={(e) => e.preventDefault()} onKeyDown={key}>
      <Mode />
      <Strategy />
      <Symbols />
      <div class="pair where"><Timeframe /><Exchange /></div>
      {mode === "backtest" && <Dates />}
      {mode !== "live" && <Cash />}
      <Parameters />
      <Execution />
      <PaperSettings />
      <Live />
      <Start />
    </form>
  );
}
