// Real money: what is about to be traded, within which limits, and the typed confirmation.
import { computed, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { stopEffect } from "../panels/sentences.ts";
import { limits } from "../state/limits.ts";
import { hello } from "../state/store.ts";
import { Control } from "./control.tsx";
import * as draft from "./draft.ts";
import * as model from "./model.ts";
import type { Section } from "./model.ts";
import { edited } from "./outcome.ts";
import { Groups } from "./sections.tsx";
import { terms } from "./terms.ts";

/** What the service adds to the form. It may be another one behind the same address, such as after a restart. */
const added = computed(() => JSON.stringify([model.strategy.value?.sha256, model.exchange.value?.version, hello.value?.risk, hello.value?.on_stop]));

export function Live() {
  useSignalEffect(() => {
    void added.value;
    draft.confirmation.value = "";
  });
  if (draft.mode.value !== "live") return null;
  const venue = model.exchange.value, strategy = model.strategy.value, section = model.config.value;
  // Credentials are for nothing where there is no account.
  const play = venue?.connector === "sim", fields = play ? section.fields.filter((f) => !f.secret) : section.fields;
  const secret = fields.some((f) => f.secret);
  return (
    <section class="real-money" aria-labelledby="real-money">
      <h3 id="real-money">{play ? "Live, without real money" : "Real money"}</h3>
      <p>
        This run sends orders to {venue ? <strong><bdi>{venue.name || venue.id}</bdi></strong> : "the exchange"}
        {play ? ", a market inside this service: no real money can be lost there." : " and can lose real money on the account there."}
      </p>
      <dl class="terms">
        <Term name="Strategy">{strategy ? <><bdi>{strategy.display_name || strategy.name}</bdi> <bdi>{strategy.version}</bdi></> : "not chosen"}</Term>
        <Term name="Parameters"><Parameters /></Term>
        <Term name="Symbols"><bdi>{draft.symbols.value.join(", ") || "none"}</bdi>{draft.timeframe.value && <>, <bdi>{draft.timeframe.value}</bdi> candles</>}</Term>
        <Term name="Exchange">{venue ? <><bdi>{venue.name}</bdi> (<bdi>{venue.id}</bdi> <bdi>{venue.version}</bdi>)</> : "not chosen"}</Term>
        {venue && <Term name="Certified">{venue.certified ? "yes" : "no: this service refuses real money there"}</Term>}
        {play && <Term name="Size">as below where the service was told so, else all of the cash: the limits are those of real money</Term>}
        <Limits />
        <Term name="When stopped">{stopEffect(hello.value?.on_stop ?? "", true)}</Term>
      </dl>
      {sandbox(section) && <p><strong>Sandbox is on:</strong> the orders go to the test venue of the exchange.</p>}
      {fields.length > 0 && <Groups section={section} fields={fields} />}
      {secret && <p class="caption">Credentials are kept in this page only until Start has been answered, whatever the answer. They are never stored.</p>}
      <Confirmation />
    </section>
  );
}

const Term = ({ name, children }: { name: string; children: ComponentChildren }) => <div><dt>{name}</dt><dd>{children}</dd></div>;

function sandbox(section: Section): boolean {
  const field = section.fields.find((f) => f.name === "sandbox" && f.kind === "boolean");
  return field !== undefined && model.rawOf(section, field) === "true";
}

/** The risk limits in force. */
function Limits() {
  const list = limits(hello.value?.risk, model.quote.value);
  if (!list.length) return <Term name="Risk limits">the service names none</Term>;
  return <>{list.map((l) => <Term key={l.key} name={l.name}>{l.text}</Term>)}</>;
}

function Parameters() {
  const list = terms(model.params.value.fields, model.readings.params.value, model.quote.value);
  if (!list.length) return <>none</>;
  return <>{list.map((t, i) => <span key={i}>{i > 0 && ", "}<bdi>{t.name}</bdi> <strong><bdi>{t.text}</bdi></strong></span>)}</>;
}

function Confirmation() {
  const phrase = model.phrase.value;
  if (!model.exchange.value) return null;
  return (
    <Control pointer="/confirmation" label={`To confirm, type ${phrase}`} required>
      {(aria) => (
        <input
          {...aria} type="text" class="mono" autocomplete="off" autocapitalize="off" spellcheck={false} value={draft.confirmation.value}
          onInput={(e) => {
            edited("/confirmation");
            draft.confirmation.value = e.currentTarget.value;
          }}
        />
      )}
    </Control>
  );
}
