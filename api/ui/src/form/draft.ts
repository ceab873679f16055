// What stands in the form, one signal per field, so that typing renders one field.
// Values are what was typed: text stays text until a request is built from it.
import { computed, effect, signal } from "@preact/signals";
import { storage } from "../state/theme.ts";
import { fields, parse } from "./stored.ts";

export type FormMode = "backtest" | "paper" | "live";
/** Text, or one text per item of a list. undefined: untouched, the default shows. */
export type Raw = string | string[] | undefined;

const key = "assay.form";
const last = parse(storage.get(key));

/** Whether the form comes from an earlier visit. */
export const returning = Boolean(last?.strategy);
/** Backtest after a load, unless a run is on: anything else is a deliberate choice. */
export const mode = signal<FormMode>("backtest");
export const strategy = signal(last?.strategy ?? "");
export const symbols = signal<string[]>(last?.symbols ?? []);
export const timeframe = signal(last?.timeframe ?? "");
/** "" leaves the choice to the service. */
export const exchange = signal(last?.exchange ?? "");
export const start = signal(last?.start ?? "");
export const end = signal(last?.end ?? "");
export const cash = signal(last?.cash ?? "10000");
/** What is typed to confirm a live run. */
export const confirmation = signal("");

/** Generated fields live in scopes. Only config/<exchange> is never remembered. */
export const paramsScope = (name: string) => "params/" + name;
export const executionScope = "execution";
export const configScope = (id: string) => "config/" + id;

type Scopes = Record<string, Record<string, Raw>>;
/** The touched fields by scope and name. */
const generated = signal<Scopes>(remembrance());
const forgotten = new Set<string>();

function remembrance(): Scopes {
  const params = Object.entries(last?.params ?? {}).map(([name, of]) => [paramsScope(name), of]);
  return { ...Object.fromEntries(params), [executionScope]: last?.execution ?? {} };
}

/** What stands in a generated field. */
export function raw(scope: string, name: string): Raw {
  const of = generated.value[scope];
  return of && Object.hasOwn(of, name) ? of[name] : undefined;
}

export function setRaw(scope: string, name: string, value: Raw) {
  setScope(scope, { ...generated.peek()[scope], [name]: value });
}

/** Replaces a scope: what is not given is untouched again. */
export function setScope(scope: string, values: Record<string, Raw>) {
  generated.value = { ...generated.peek(), [scope]: values };
}

/** Fields that a schema calls secret are not remembered, whatever their scope. */
export const neverStore = (scope: string, name: string) => void forgotten.add(scope + "\n" + name);

const storable = (scope: string, of: Record<string, Raw>) => fields(Object.fromEntries(Object.entries(of).filter(([name]) => !forgotten.has(scope + "\n" + name))));

// A load begins with a backtest: an exchange that was chosen for another mode may have none.
const remembered = computed(() => {
  const scopes = Object.entries(generated.value);
  const params = scopes.filter(([scope]) => scope.startsWith("params/")).map(([scope, of]) => [scope.slice("params/".length), storable(scope, of)]);
  return JSON.stringify({
    strategy: strategy.value, symbols: symbols.value, timeframe: timeframe.value, exchange: mode.value === "backtest" ? exchange.value : "", start: start.value, end: end.value, cash: cash.value,
    params: Object.fromEntries(params), execution: storable(executionScope, generated.value[executionScope] ?? {}),
  });
});

let timer = 0;
const write = () => {
  clearTimeout(timer);
  timer = 0;
  storage.set(key, remembered.value);
};
effect(() => {
  void remembered.value;
  // Not at every key: the storage is written to disk.
  if (!timer) timer = setTimeout(write, 300);
});
addEventListener("pagehide", write);
