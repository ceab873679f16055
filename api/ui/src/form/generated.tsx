// Fields that come from a schema: one component per kind of control.
import { computed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { isolated } from "../state/bidi.ts";
import { Chips } from "./chips.tsx";
import { Control } from "./control.tsx";
import type { Aria } from "./control.tsx";
import { choice, hint } from "./hint.ts";
import { pointerOf, quote, rawOf, setRaw } from "./model.ts";
import type { Section } from "./model.ts";
import { edited } from "./outcome.ts";
import type { Field } from "./schema.ts";
import { Slider, slides } from "./slider.tsx";
import { untouched } from "./validate.ts";

interface Props {
  section: Section;
  field: Field;
}

/** What a control needs to know and do. */
export interface Input {
  field: Field;
  aria: Aria;
  /** Untouched fields send nothing. */
  blank: boolean;
  value: string;
  set: (value: string | string[]) => void;
}

export function GeneratedField({ section, field }: Props) {
  const pointer = pointerOf(section, field);
  const raw = useMemo(() => computed(() => rawOf(section, field)), [section, field]).value;
  const set = (now: string | string[]) => {
    edited(pointer);
    setRaw(section, field, now);
  };
  const now = raw ?? (section.blank ? (field.kind === "array" ? [] : "") : untouched(field));
  const help = helpOf(field, section.blank ? "" : hint(field, raw));
  if (isCheckbox(section, field)) return <Checkbox pointer={pointer} field={field} help={help} checked={now === "true"} set={set} />;
  return (
    <Control pointer={pointer} label={field.title} unit={unitOf(field)} help={help} required={needed(field)} inline={isShort(section, field)}>
      {(aria) => {
        if (Array.isArray(now)) return <List field={field} aria={aria} values={now} set={set} />;
        const input: Input = { field, aria, blank: section.blank, value: now, set };
        return field.kind === "enum" || field.kind === "boolean" ? <Select {...input} /> : slides(field) ? <Slider {...input} /> : <Text {...input} />;
      }}
    </Control>
  );
}

const isCheckbox = (s: Section, f: Field) => f.kind === "boolean" && !s.blank && f.widget !== "select";

function isShort(s: Section, f: Field): boolean {
  if (f.kind === "enum") return (f.options ?? []).every((o) => String(o).length <= (s.blank ? 6 : 14));
  return f.kind === "boolean" || ((f.kind === "integer" || f.kind === "number") && !slides(f));
}

/** What stands beside the label; the unit "quote" is the currency that the symbols are priced in. */
function unitOf(f: Field): string {
  const unit = f.unit === "quote" ? quote.value || f.unit : f.unit;
  return [unit, needed(f) && "required"].filter(Boolean).join(", ");
}

const needed = (f: Field) => f.required && f.initial === undefined && f.kind !== "boolean";

/** The description, and what else is to be said of what stands in the field. */
function helpOf({ description }: Field, more: string): ComponentChildren {
  const text = /[^.!?…]$/.test(description) ? description + "." : description;
  return (text || more) && <>{text && <bdi>{text}</bdi>}{text && " "}{more}</>;
}

function Text({ field, aria, blank, value, set }: Input) {
  const long = field.kind === "json" || (field.widget === "textarea" && !field.secret);
  const onInput = (e: { currentTarget: { value: string } }) => set(e.currentTarget.value);
  const plain = { ...aria, spellcheck: false, autocomplete: "off", value, onInput };
  if (long) return <textarea {...plain} class={field.kind === "json" ? "mono" : undefined} rows={3} />;
  const numeric = field.kind === "integer" || field.kind === "number";
  const positive = (field.minimum ?? field.exclusiveMinimum ?? -1) >= 0;
  return (
    <input
      {...plain} type={(field.secret ? "password" : "text") as "text"} class={numeric ? "number" : undefined} autocapitalize="off"
      {...(numeric && positive ? { inputMode: field.kind === "integer" ? "numeric" as const : "decimal" as const } : {})}
      placeholder={field.initial === undefined || field.secret || !(numeric || blank) ? undefined : String(field.initial)}
    />
  );
}

function Select({ field, aria, blank, value, set }: Input) {
  const options = field.kind === "boolean" ? [true, false] : (field.options ?? []);
  const none = field.initial === undefined ? "not set" : `${choice(field.initial)} (default)`;
  const known = value === "" || options.some((o) => JSON.stringify(o) === value);
  return (
    <select {...aria} value={value} onChange={(e) => set(e.currentTarget.value)}>
      {(blank || field.initial === undefined || value === "") && <option value="">{none}</option>}
      {!known && <option value={value}>{isolated(value)}</option>}
      {options.map((o) => <option key={JSON.stringify(o)} value={JSON.stringify(o)}>{choice(o)}</option>)}
    </select>
  );
}

interface CheckboxProps {
  pointer: string;
  field: Field;
  help: ComponentChildren;
  checked: boolean;
  set: (value: string) => void;
}

function Checkbox({ pointer, field, help, checked, set }: CheckboxProps) {
  return (
    <Control pointer={pointer} label={field.title} unit={unitOf(field)} help={help} inline>
      {(aria) => (
        <input
          {...aria} type="checkbox" role={field.widget === "switch" ? "switch" : undefined} checked={checked}
          onChange={(e) => set(String(e.currentTarget.checked))}
        />
      )}
    </Control>
  );
}

function List({ field, aria, values, set }: { field: Field; aria: Aria; values: string[]; set: (v: string[]) => void }) {
  const item = field.items;
  if (field.widget === "textarea") {
    return (
      <textarea
        {...aria} rows={3} spellcheck={false} autocomplete="off" placeholder="One per line" value={values.join("\n")}
        onInput={(e) => set(e.currentTarget.value === "" ? [] : e.currentTarget.value.split("\n"))}
      />
    );
  }
  const quoted = item?.kind === "enum";
  const options = item?.kind === "boolean" ? ["true", "false"] : (item?.options ?? []).map((o) => JSON.stringify(o));
  const show = (v: string) => (quoted ? String(parsed(v)) : v);
  return (
    <Chips
      aria={aria} values={values} offers={options.map((value) => ({ value, note: "", reason: "", text: show(value) }))} show={show} repeats={!field.uniqueItems}
      separators={item?.kind === "string" || quoted ? undefined : /[\s,;]+/} placeholder="Add, then Enter"
      onChange={(now) => set(quoted ? now.map((v) => matching(v, options)) : now)}
    />
  );
}

/** A typed choice as one of the options, which are JSON. */
const matching = (text: string, options: string[]) => (options.includes(text) ? text : (options.find((o) => String(parsed(o)) === text) ?? JSON.stringify(text)));

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}
