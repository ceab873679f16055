// What follows from the form and the lists of the service: the fields, what they hold
// and what is wrong with it.
import { computed } from "@preact/signals";
import { execution } from "../gen/contract.ts";
import { exchanges, quoteOf, strategies } from "../state/store.ts";
import { basicFindings, labels as basicLabels } from "./basics.ts";
import type { Finding } from "./basics.ts";
import * as draft from "./draft.ts";
import type { Raw } from "./draft.ts";
import { applying } from "./execution.ts";
import { moment, typed } from "./moment.ts";
import { automatic, candidates, windowOf } from "./offers.ts";
import { pointer } from "./pointer.ts";
import { fieldsOf } from "./schema.ts";
import type { Field } from "./schema.ts";
import { readAll } from "./validate.ts";
import type { Problem } from "./validate.ts";

/** Generated fields that belong together. */
export interface Section {
  /** Their object in the request. */
  key: "strategy_params" | "execution" | "exchange_config";
  scope: string;
  fields: Field[];
  /** Untouched fields send nothing; their defaults stand beside them. */
  blank: boolean;
}

export const strategy = computed(() => strategies.value?.find((s) => s.name === draft.strategy.value));
/** The exchange that is named. */
export const exchange = computed(() => {
  const id = draft.exchange.value;
  return id === "" ? undefined : exchanges.value?.find((e) => e.id === id || e.aliases.includes(id));
});
/** The exchange that would be used. */
export const used = computed(() => exchange.value ?? automatic(exchanges.value ?? [], draft.mode.value, draft.symbols.value, draft.timeframe.value.trim()));
export const offering = computed(() => candidates(exchanges.value ?? [], draft.exchange.value, draft.mode.value));
export const range = computed(() => windowOf(used.value, draft.symbols.value, draft.timeframe.value.trim()));
export const quote = computed(() => quoteOf(draft.symbols.value));

const none: Field[] = [];
const restName = "\0";
const fieldsOfStrategy = computed(() => {
  const s = strategy.value;
  if (!s) return none;
  const fields = fieldsOf(s.params_schema, s.default_params);
  // A run may have had keys that its schema allows without naming them.
  const more = draft.raw(draft.paramsScope(s.name), restName) !== undefined && !fields.some((f) => f.rest);
  return more ? fieldsOf({ ...s.params_schema, additionalProperties: true }, s.default_params) : fields;
});
const fieldsOfVenue = computed(() => (exchange.value ? fieldsOf(exchange.value.config_schema) : none));

export const params = computed<Section>(() => section("strategy_params", draft.paramsScope(draft.strategy.value), fieldsOfStrategy.value, false));
export const executionFields = fieldsOf(execution);
const profile = computed(() => draft.raw(draft.executionScope, "profile"));
/** Fill rules of backtests and paper runs; live orders are filled by the exchange. */
export const fills = computed<Section>(() => {
  const wanted = draft.mode.value === "live" ? none : applying(executionFields, profile.value, used.value?.fees);
  return section("execution", draft.executionScope, wanted, true);
});
/** Settings of the exchange; credentials in live only. */
export const config = computed<Section>(() => {
  const wanted = draft.mode.value === "backtest" ? none : fieldsOfVenue.value.filter((f) => draft.mode.value === "live" || !f.secret);
  return section("exchange_config", draft.configScope(exchange.value?.id ?? ""), wanted, true);
});

function section(key: Section["key"], scope: string, fields: Field[], blank: boolean): Section {
  for (const f of fields) if (f.secret) draft.neverStore(scope, nameOf(f));
  return { key, scope, fields, blank };
}

/** The name that a field has in the draft; the one that takes the rest has none of its own. */
export const nameOf = (f: Field) => (f.rest ? restName : f.name);
export const rawOf = (s: Section, f: Field) => draft.raw(s.scope, nameOf(f));
export const setRaw = (s: Section, f: Field, value: Raw) => draft.setRaw(s.scope, nameOf(f), value);
export const pointerOf = (s: Section, f: Field) => (f.rest ? pointer(s.key) : pointer(s.key, f.name));

const reading = (of: { readonly value: Section }) => computed(() => readAll(of.value.fields, (f) => rawOf(of.value, f), of.value.blank));
export const readings = { params: reading(params), fills: reading(fills), config: reading(config) };

/** Where a backtest stops looking unless it is told to: at the hold-out, null without one. */
export const held = computed(() => (draft.mode.value === "backtest" && range.value?.held) || null);

/** The end of the window: To, else where the hold-out begins, if From is before. */
export const end = computed(() => {
  const from = moment(draft.start.value);
  if (draft.end.value.trim() || !held.value || (from && from.ms >= Date.parse(held.value))) return draft.end.value;
  return typed(held.value);
});

/** The text that confirms a live run. */
export const phrase = computed(() => `LIVE ${exchange.value?.id ?? ""}`);

/** What is wrong with the form, in the order of the page. */
export const findings = computed<Finding[]>(() => [
  ...basics.value, ...generated(params.value, readings.params.value.problems), ...generated(fills.value, readings.fills.value.problems),
  ...generated(config.value, readings.config.value.problems), ...confirmed.value,
]);

const basics = computed(() => strategies.value && exchanges.value ? basicFindings({
  mode: draft.mode.value, strategyName: draft.strategy.value, strategy: strategy.value, symbols: draft.symbols.value, timeframe: draft.timeframe.value.trim(),
  exchangeId: draft.exchange.value, exchange: exchange.value, exchanges: exchanges.value, offering: offering.value, range: range.value,
  start: draft.start.value, end: draft.end.value, cash: draft.cash.value,
}) : []);

function generated(s: Section, problems: Map<Field, Problem>): Finding[] {
  return [...problems].map(([f, p]) => ({ ...p, pointer: pointerOf(s, f), label: f.title }));
}

const confirmed = computed<Finding[]>(() => {
  if (draft.mode.value !== "live" || draft.confirmation.value === phrase.value) return [];
  return [{ pointer: "/confirmation", label: "Confirmation", message: `type ${phrase.value}`, certain: true }];
});

/** Every field that is on the page, by pointer with its label. */
export const labels = computed(() => {
  const all = new Map<string, string>(Object.entries(basicLabels));
  for (const s of [params.value, fills.value, config.value]) for (const f of s.fields) all.set(pointerOf(s, f), f.title);
  if (draft.mode.value === "live") all.set("/confirmation", "Confirmation");
  if (draft.mode.value !== "backtest") for (const p of ["/start_date", "/end_date"]) all.delete(p);
  if (draft.mode.value === "live") all.delete("/initial_cash");
  return all;
});
