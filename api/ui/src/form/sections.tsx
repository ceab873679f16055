// The generated parts of the form: parameters, execution, settings of the exchange.
import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { announce } from "../state/view.ts";
import * as draft from "./draft.ts";
import { GeneratedField } from "./generated.tsx";
import * as model from "./model.ts";
import type { Section } from "./model.ts";
import { edited, mistakes } from "./outcome.ts";
import { grouped } from "./schema.ts";
import type { Field } from "./schema.ts";
import { untouched } from "./validate.ts";

export function Parameters() {
  const section = model.params.value, fields = section.fields;
  if (!model.strategy.value) return null;
  const plain = fields.filter((f) => !f.advanced), advanced = fields.filter((f) => f.advanced);
  return (
    <section class="params" aria-labelledby="params-title">
      <div class="head">
        <h3 id="params-title">Parameters</h3>
        <Defaults section={section} />
      </div>
      {!fields.length && <p class="caption">This strategy has none.</p>}
      <Groups section={section} fields={plain} />
      {advanced.length > 0 && <Fold section={section} fields={advanced} title="Advanced"><Groups section={section} fields={advanced} /></Fold>}
    </section>
  );
}

export function Execution() {
  const section = model.fills.value;
  if (!section.fields.length) return null;
  return (
    <Fold section={section} fields={section.fields} title="Execution">
      <div class="head">
        <p class="caption">How orders fill. What is not set follows the profile.</p>
        <Defaults section={section} />
      </div>
      <Groups section={section} fields={section.fields} />
    </Fold>
  );
}

/** Settings of the exchange in a paper run: no credentials, they are not needed. */
export function PaperSettings() {
  const section = model.config.value;
  if (draft.mode.value !== "paper") return null;
  return (
    <>
      <p class="caption">A paper run trades against the simulated venue of this service: credentials are not needed and not asked for.</p>
      {!model.exchange.value && <p class="caption">Choose an exchange to see its settings, such as the pace of a replay.</p>}
      {section.fields.length > 0 && <Fold section={section} fields={section.fields} title="Exchange settings"><Groups section={section} fields={section.fields} /></Fold>}
    </>
  );
}

/** Fields under the names of their groups. */
export function Groups({ section, fields }: { section: Section; fields: Field[] }) {
  const list = (of: Field[]) => of.map((f) => <GeneratedField key={section.scope + model.pointerOf(section, f)} section={section} field={f} />);
  return <>{grouped(fields).map(([name, of]) => (name ? <fieldset key={name} class="group"><legend><bdi>{name}</bdi></legend>{list(of)}</fieldset> : list(of)))}</>;
}

interface FoldProps {
  section: Section;
  fields: Field[];
  title: string;
  children: ComponentChildren;
}

/** A folded part that says, closed, how many of its fields are set or wrong. */
function Fold({ section, fields, title, children }: FoldProps) {
  const wrong = useComputed(() => {
    const inside = new Set(fields.map((f) => model.pointerOf(section, f)));
    return mistakes.value.filter((m) => inside.has(m.pointer)).length;
  });
  const set = fields.filter((f) => isSet(section, f)).length;
  return (
    <details class="fold" onToggle={(e) => e.currentTarget.open && e.currentTarget.scrollIntoView({ block: "nearest" })}>
      <summary>
        {title}
        {set > 0 && <span class="caption"> · {set} set</span>}
        {wrong.value > 0 && <span class="wrong"> · {wrong.value} to look at</span>}
      </summary>
      <div class="fields">{children}</div>
    </details>
  );
}

function isSet(section: Section, f: Field): boolean {
  const raw = model.rawOf(section, f);
  return raw !== undefined && (section.blank ? raw.length > 0 : JSON.stringify(raw) !== JSON.stringify(untouched(f)));
}

/** Undoes all changes of a section. */
function Defaults({ section }: { section: Section }) {
  const touched = useComputed(() => section.fields.some((f) => model.rawOf(section, f) !== undefined));
  if (!touched.value) return null;
  const back = (e: { currentTarget: HTMLElement }) => {
    // The button goes, and the focus with it.
    e.currentTarget.closest("section, details")?.querySelector<HTMLElement>("input, select, textarea")?.focus();
    edited("/" + section.key);
    draft.setScope(section.scope, {});
    announce("Default values again");
  };
  return <button type="button" class="quiet caption" onClick={back}>Defaults</button>;
}
