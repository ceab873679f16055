// A list of texts as chips, with an input that adds to it.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../panels/icon.tsx";
import { announce } from "../state/view.ts";
import { Combo } from "./combo.tsx";
import type { Aria } from "./control.tsx";
import type { Offer } from "./offers.ts";

interface Props {
  aria: Aria;
  values: readonly string[];
  offers: readonly Offer[];
  placeholder?: string;
  /** Characters that end an entry while typing, beside Enter. */
  separators?: RegExp;
  /** How a value reads on its chip. */
  show?: (value: string) => string;
  /** Whether the same value may stand there twice. */
  repeats?: boolean;
  onChange: (values: string[]) => void;
}

const never = /(?!)/;

export function Chips({ aria, values, offers, placeholder, separators = never, show = (v) => v, repeats = false, onChange }: Props) {
  const text = useSignal("");
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const focus = useRef(-1);

  const add = (entries: string[]) => {
    const now = [...values];
    for (const e of entries) if (e && (repeats || !now.includes(e))) now.push(e);
    text.value = "";
    if (now.length > values.length) onChange(now);
  };
  const commit = () => {
    const entries = text.value.split(separators).map((s) => s.trim()).filter(Boolean);
    if (entries.length) add(entries);
    return entries.length > 0;
  };
  const remove = (at: number) => {
    focus.current = at;
    announce(`${show(values[at] ?? "")} removed`);
    onChange(values.filter((_, i) => i !== at));
  };
  // The focus stays among the chips: on the one that took the place, else on the input.
  useLayoutEffect(() => {
    if (focus.current < 0) return;
    const next = list.current?.querySelectorAll("button")[focus.current];
    focus.current = -1;
    (next ?? input.current)?.focus();
  }, [values]);
  const back = (e: KeyboardEvent) => {
    const last = values.at(-1);
    if ((e.ctrlKey || e.metaKey) && e.key === "Enter") commit();
    if (e.key !== "Backspace" || text.value || last === undefined) return;
    e.preventDefault();
    text.value = show(last);
    onChange(values.slice(0, -1));
    announce(`${show(last)} is in the input again`);
  };
  return (
    <div class="entry">
      {values.length > 0 && (
        <ul class="chips" ref={list} aria-label="Chosen">
          {values.map((v, i) => (
            <li key={repeats ? i : v}>
              <bdi>{show(v)}</bdi>
              <button type="button" class="quiet" aria-label={`Remove ${show(v)}`} onClick={() => remove(i)}><Icon name="cross" /></button>
            </li>
          ))}
        </ul>
      )}
      <Combo
        aria={aria} input={input} value={text.value} placeholder={placeholder}
        offers={repeats ? offers : offers.filter((o) => !values.includes(o.value))}
        onInput={(now) => {
          text.value = now;
          if (separators.test(now)) commit();
        }}
        onPick={(v) => add([v])} onEnter={commit} onKey={back} onLeave={commit}
      />
    </div>
  );
}
