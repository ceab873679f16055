// The start form, in the order in which a run is described.
import { useEffect, useRef } from "preact/hooks";
import { exchanges, strategies } from "../state/store.ts";
import { submit } from "./actions.ts";
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
