// A number with a slider beside it: the text is what counts, the slider is a quick way to it.
import type { Input } from "./generated.tsx";
import type { Field } from "./schema.ts";

interface Track {
  min: number;
  max: number;
  step: number;
}

/** Where a slider runs; null if the field has no two ends. */
export function track(f: Field): Track | null {
  const low = f.minimum ?? f.exclusiveMinimum, high = f.maximum ?? f.exclusiveMaximum;
  if (low === undefined || high === undefined || !(high > low)) return null;
  const step = f.multipleOf ?? (f.kind === "integer" ? 1 : Number(((high - low) / 100).toPrecision(3)));
  const min = f.minimum === undefined ? low + step : low, max = f.maximum === undefined ? high - step : high;
  return max > min ? { min, max, step } : null;
}

export const slides = (f: Field) => f.widget === "slider" && (f.kind === "integer" || f.kind === "number") && track(f) !== null;

export function Slider({ field, aria, value, set }: Input) {
  const t = track(field);
  if (!t) return null;
  const at = Number(value === "" ? field.initial : value);
  return (
    <div class="slider">
      <input
        type="range" aria-label={`${field.title}, slider`} min={t.min} max={t.max} step={t.step} value={Number.isFinite(at) ? at : t.min}
        onInput={(e) => set(e.currentTarget.value)}
      />
      <input {...aria} type="text" class="number" autocomplete="off" spellcheck={false} value={value} onInput={(e) => set(e.currentTarget.value)} />
    </div>
  );
}
