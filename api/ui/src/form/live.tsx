// Real money: what is about to be traded, within which limits, and the typed confirmation.
import { words } from "../state/format.ts";
import { hello } from "../state/store.ts";
import { Control } from "./control.tsx";
import * as draft from "./draft.ts";
import * as model from "./model.ts";
import type { Section } from "./model.ts";
import { edited } from "./outcome.ts";
import { Groups } from "./sections.tsx";

export function Live() {
  if (draft.mode.value !== "live") return null;
  const venue = model.exchange.value, section = model.config.value;
  const secret = section.fields.some((f) => f.secret);
  return (
    <section class="real-money" aria-labelledby="real-money">
      <h3 id="real-money">Real money</h3>
      <p>This run sends orders to {venue ? <strong>{venue.name || venue.id}</strong> : "the exchange"} and can lose real money on the account there.</p>
      <dl class="terms">
        <div><dt>Exchange</dt><dd>{venue ? `${venue.name} (${venue.id} ${venue.version})` : "not chosen"}</dd></div>
        <div><dt>Symbols</dt><dd>{draft.symbols.value.join(", ") || "none"}</dd></div>
        {venue && <div><dt>Certified</dt><dd>{venue.certified ? "yes" : "no: this service refuses real money there"}</dd></div>}
        <Limits />
        <div><dt>When stopped</dt><dd>{onStop(hello.value?.on_stop)}</dd></div>
      </dl>
      {sandbox(section) && <p><strong>Sandbox is on:</strong> the orders go to the test venue of the exchange.</p>}
      {section.fields.length > 0 && <Groups section={section} fields={section.fields} />}
      {secret && <p class="caption">Credentials are kept in this page only until Start has been answered, whatever the answer. They are never stored.</p>}
      <Confirmation />
    </section>
  );
}

function sandbox(section: Section): boolean {
  const field = section.fields.find((f) => f.name === "sandbox" && f.kind === "boolean");
  return field !== undefined && model.rawOf(section, field) === "true";
}

/** The risk limits in force, as the service names them. */
function Limits() {
  const risk = Object.entries(hello.value?.risk ?? {});
  if (!risk.length) return <div><dt>Risk limits</dt><dd>the service names none</dd></div>;
  return <>{risk.map(([name, value]) => <div key={name}><dt>{words(name.replaceAll("-", "_"))}</dt><dd>{limit(value)}</dd></div>)}</>;
}

function limit(value: unknown): string {
  if (value === null || value === undefined) return "none";
  return typeof value === "string" || typeof value === "number" ? String(value) : typeof value === "boolean" ? (value ? "yes" : "no") : JSON.stringify(value);
}

function onStop(policy: string | undefined): string {
  switch (policy) {
    case "cancel":
      return "open orders are cancelled, positions are kept";
    case "flatten":
      return "open orders are cancelled, positions are sold at market";
    case "leave":
      return "open orders and positions are left as they are";
    default:
      return policy || "not known: the service has not said";
  }
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
