// Mode and strategy: what the rest of the form depends on.
import { batch } from "@preact/signals";
import { isolated } from "../state/bidi.ts";
import { exchanges, listProblems, strategies } from "../state/store.ts";
import { forget } from "./actions.ts";
import { Control, useAria } from "./control.tsx";
import * as draft from "./draft.ts";
import type { FormMode } from "./draft.ts";
import * as model from "./model.ts";
import { modeReason, modeReasons } from "./offers.ts";
import { clear, edited } from "./outcome.ts";

const modes: readonly [FormMode, string][] = [["backtest", "Backtest"], ["paper", "Paper"], ["live", "Live"]];

function setMode(mode: FormMode) {
  batch(() => {
    // Credentials stay no longer than the person stays in live.
    forget(model.config.peek());
    clear();
    draft.confirmation.value = "";
    draft.mode.value = mode;
    const venue = exchanges.peek()?.find((e) => e.id === draft.exchange.peek());
    if (venue && !venue.modes.includes(mode)) draft.exchange.value = "";
  });
}

export function Mode() {
  const { aria, note } = useAria("/mode", {});
  const known = exchanges.value, strategy = model.strategy.value;
  const texts = modeReasons(modes.map(([mode]) => mode), strategy, known);
  const { id, onBlur, ...described } = aria;
  return (
    <fieldset class="control" id={id} aria-describedby={described["aria-describedby"]} onFocusOut={onBlur}>
      <legend class="unseen">Mode</legend>
      <div class="segments">
        {modes.map(([mode, label]) => {
          const missing = modeReason(mode, strategy, known) !== "";
          return (
            <label key={mode}>
              <input
                type="radio" name="mode" value={mode} checked={draft.mode.value === mode} disabled={missing && draft.mode.value !== mode}
                aria-describedby={missing ? "mode-reasons" : undefined} onChange={() => setMode(mode)}
              />
              <span>{label}</span>
            </label>
          );
        })}
      </div>
      {texts.length > 0 && <p id="mode-reasons" class="caption">{texts.join(" ")}</p>}
      {note}
    </fieldset>
  );
}

export function Strategy() {
  const all = strategies.value, name = draft.strategy.value, chosen = model.strategy.value;
  const broken = all?.filter((s) => s.status !== "available") ?? [];
  const set = (next: string) => {
    edited("/strategy_name");
    draft.strategy.value = next;
  };
  return (
    <>
      <Control pointer="/strategy_name" label="Strategy" help={chosen?.description} required>
        {(aria) => (
          <select {...aria} value={name} onChange={(e) => set(e.currentTarget.value)}>
            {!name && <option value="" disabled selected>{all ? (all.length ? "Choose one" : "No strategies") : listProblems.value.strategies ? "Not loaded" : "Loading…"}</option>}
            {name && !chosen && <option value={name} disabled>{isolated(name)}{all && " (not here)"}</option>}
            {all?.map((s) => (
              <option key={s.name} value={s.name} disabled={s.status !== "available"}>
                {isolated(s.display_name || s.name)}{s.version && " " + isolated(s.version)}{s.status !== "available" && " (unavailable)"}
              </option>
            ))}
          </select>
        )}
      </Control>
      {broken.length > 0 && (
        <details class="broken caption">
          <summary>{broken.length} unavailable</summary>
          <dl>{broken.map((s) => <div key={s.name}><dt><bdi>{s.display_name || s.name}</bdi></dt><dd><bdi>{s.error?.message ?? "The reason is not known."}</bdi></dd></div>)}</dl>
        </details>
      )}
    </>
  );
}
