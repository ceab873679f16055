// The theme and the single-letter keys: the two settings that a page remembers.
import { computed, effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

/** A storage that may be forbidden or full: reading gives null, writing does nothing then. */
export const storage = {
  get(key: string): string | null {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  set(key: string, value: string) {
    try {
      localStorage.setItem(key, value);
    } catch {
      // Nothing depends on what is remembered.
    }
  },
};

const stored = storage.get("assay.theme");
export const theme = signal<Theme>(stored === "light" || stored === "dark" ? stored : "auto");
/** Whether s, r, t and 1 to 7 act without a modifier. */
export const shortcuts = signal(storage.get("assay.shortcuts") === "on");

const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", (e) => (systemDark.value = e.matches));

/** Whether the page is dark now. */
export const dark = computed(() => (theme.value === "auto" ? systemDark.value : theme.value === "dark"));

export function nextTheme() {
  theme.value = theme.value === "auto" ? "light" : theme.value === "light" ? "dark" : "auto";
}

effect(() => {
  document.documentElement.dataset.theme = dark.value ? "dark" : "light";
  storage.set("assay.theme", theme.value);
});
effect(() => storage.set("assay.shortcuts", shortcuts.value ? "on" : "off"));
