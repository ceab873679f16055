// What the person has chosen about the look of the chart; kept in the browser.
import { effect, signal } from "@preact/signals";
import { storage } from "../state/theme.ts";

export const choices = {
  cash: { label: "Cash", at: false },
  holding: { label: "Holding", at: true },
  log: { label: "Log scale", at: false },
  hollow: { label: "Hollow bodies", at: false },
  blind: { label: "Blue and orange", at: false },
} as const;

export type Choice = keyof typeof choices;
export type Options = Record<Choice, boolean>;

const key = "assay.chart";
const names = Object.keys(choices) as Choice[];
const first = Object.fromEntries(names.map((name) => [name, choices[name].at])) as Options;

function stored(): Options {
  try {
    const known = JSON.parse(storage.get(key) ?? "{}") as Partial<Record<Choice, unknown>>;
    return Object.fromEntries(names.map((name) => [name, typeof known?.[name] === "boolean" ? known[name] : first[name]])) as Options;
  } catch {
    return first;
  }
}

export const options = signal<Options>(stored());

export function choose(name: Choice) {
  options.value = { ...options.value, [name]: !options.value[name] };
  storage.set(key, JSON.stringify(options.value));
}

// Rises and falls have these colours everywhere, not only on the chart.
effect(() => {
  document.documentElement.toggleAttribute("data-blind", options.value.blind);
});
