// A labelled control with its unit, help and message. Only this renders when the
// message changes.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Icon } from "../panels/icon.tsx";
import { leave, shownAt } from "./outcome.ts";
import type { Shown } from "./outcome.ts";
import { elementId } from "./pointer.ts";

/** What the control itself must carry. */
export interface Aria {
  id: string;
  "aria-describedby"?: string;
  "aria-invalid"?: "true";
  "aria-required"?: "true";
  onBlur: () => void;
}

interface Props {
  pointer: string;
  label: string;
  unit?: string;
  help?: ComponentChildren;
  /** Ids of further texts that describe the control. */
  describedBy?: string;
  required?: boolean;
  /** Label and control share a line. */
  inline?: boolean;
  children: (aria: Aria) => ComponentChildren;
}

export function Control({ pointer, label, unit, help, describedBy = "", required, inline, children }: Props) {
  const { aria, note } = useAria(pointer, { help: Boolean(help), describedBy, required });
  return (
    <div class={inline ? "control inline" : "control"}>
      <label for={aria.id}><bdi>{label}</bdi>{unit && <span class="unit"><bdi>{unit}</bdi></span>}</label>
      {children(aria)}
      {help && <p id={aria.id + "-help"} class="caption"><bdi>{help}</bdi></p>}
      {note}
    </div>
  );
}

/** The attributes of a control and the message below it. */
export function useAria(pointer: string, { help = false, describedBy = "", required = false }) {
  const shown = useMemo(() => shownAt(pointer), [pointer]).value;
  const id = elementId(pointer);
  const texts = [describedBy, help && id + "-help", shown && id + "-note"].filter(Boolean).join(" ");
  const aria: Aria = { id, onBlur: () => leave(pointer) };
  if (texts) aria["aria-describedby"] = texts;
  if (shown?.wrong) aria["aria-invalid"] = "true";
  if (required) aria["aria-required"] = "true";
  return { aria, note: shown && <Note id={id + "-note"} shown={shown} /> };
}

/** A message below a field: a mistake, or a remark that does not block the start. */
function Note({ id, shown }: { id: string; shown: Shown }) {
  return <p id={id} class={shown.wrong ? "note wrong" : "note"}>{shown.wrong && <Icon name="warn" />}<span>{sentence(shown.message)}</span></p>;
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Brings a field into view, out of what is folded, and puts the focus on it. */
export function focusField(pointer: string) {
  const at = document.getElementById(elementId(pointer));
  if (!at) return;
  for (let up = at.parentElement; up; up = up.parentElement) if (up instanceof HTMLDetailsElement) up.open = true;
  const control = at.matches("input, select, textarea, button") ? at : at.querySelector<HTMLElement>("input:checked, input, select, textarea, button");
  control?.focus();
}
