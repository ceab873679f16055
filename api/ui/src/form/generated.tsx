// Fields that come from a schema: one component per kind of control.
import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { Chips } from "./chips.tsx";
import { Control } from "./control.tsx";
import type { Aria } from "./control.tsx";
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
  const value = useMemo(() => computed(() => rawOf(section, field) ?? (section.blank ? (field.kind === "array" ? [] : "") : untouched(field))), [section, field]);
  const set = (now: string | string[]) => {
    edited(pointer);
    setRaw(section, field, now);
  };
  const now = value.value;
  if (isCheckbox(section, field)) return <Checkbox pointer={pointer} field={field} help={help(section, field, now)} checked={now === "true"} set={set} />;
  return (
    <Control pointer={pointer} label={field.title} unit={unitOf(field)} help={help(section, field, now)} required={needed(field)} inline={isShort(section, field)}>
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

/** The description, and the default where it does not stand in the field. */
function help(s: Section, f: Field, now: string | string[]): string {
  const plain = f.initial !== undefined && f.kind !== "json" && f.kind !== "array" && !f.secret;
  const standard = !plain ? "" : f.kind === "boolean" ? (f.initial ? "yes" : "no") : String(f.initial);
  const differs = standard && !s.blank && JSON.stringify(now) !== JSON.stringify(untouched(f));
  const text = f.description && /[^.!?…]$/.test(f.description) ? f.description + "." : f.description;
  return differs ? `${text} Default: ${standard}.`.trim() : text;
}

function Text({ field, aria, value, set }: Input) {
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
      placeholder={field.initial === undefined || field.secret ? undefined : String(field.initial)}
    />
  );
}

function Select({ field, aria, blank, value, set }: Input) {
  const options = field.kind === "boolean" ? [true, false] : (field.options ?? []);
  const name = (o: unknown) => (o === true ? "yes" : o === false ? "no" : o === null ? "none" : String(o));
  const none = field.initial === undefined ? "not set" : `${name(field.initial)} (default)`;
  const known = value === "" || options.some((o) => JSON.stringify(o) === value);
  return (
    <select {...aria} value={value} onChange={(e) => set(e.currentTarget.value)}>
      {(blank || field.initial === undefined || value === "") && <option value="">{none}</option>}
      {!known && <option value={value}>{value}</option>}
      {options.map((o) => <option key={JSON.stringify(o)} value={JSON.stringify(o)}>{name(o)}</option>)}
    </select>
  );
}

interface CheckboxProps {
  pointer: string;
  field: Field;
  help: string;
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
