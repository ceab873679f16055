// How published series are drawn: as the strategy declares, else as lines over the candles.
import type { Plot as Declared } from "../api/types.ts";
import { looks, lookOf } from "./scale.ts";
import type { LineLook } from "./scale.ts";

export interface Level {
  title: string;
  value: number;
}

/** How one series is drawn. */
export interface Drawing {
  title: string;
  /** "" is over the candles. */
  pane: string;
  kind: "line" | "histogram" | "band" | "marker";
  /** The upper edge of a band, "" of anything else. */
  upper: string;
  levels: Level[];
  look: LineLook;
  /** Whether the strategy has said how. */
  declared: boolean;
}

/** The drawings of series, without those that are only the upper edge of a band. Colours go by name, whatever order the names come in. */
export function drawingsOf(names: readonly string[], plots: readonly Declared[], params: Record<string, unknown>): Map<string, Drawing> {
  const by = new Map(plots.map((p) => [p.series, p]));
  const edges = new Set(plots.filter((p) => p.kind === "band" && !by.has(p.upper)).map((p) => p.upper));
  const order = places(names);
  const out = new Map<string, Drawing>();
  for (const name of names) {
    if (edges.has(name)) continue;
    const p = by.get(name), look = lookOf(order.get(name)!);
    out.set(name, {
      title: p?.title || name, pane: p?.pane ?? "", kind: p?.kind || "line", upper: p?.upper ?? "", declared: p !== undefined,
      levels: (p?.levels ?? []).flatMap((l) => {
        const value = l.param ? params[l.param] : l.value;
        return typeof value === "number" && Number.isFinite(value) ? [{ title: l.title || l.param, value }] : [];
      }),
      look: p ? { token: p.color || look.token, style: 0, width: 1 } : look,
    });
  }
  return out;
}

/** A place for each name by its letters; names that would share one go on to the next free one, in the order of the alphabet. */
function places(names: readonly string[]): Map<string, number> {
  const out = new Map<string, number>(), taken = new Set<number>();
  for (const name of names.toSorted()) {
    let place = hash(name) % looks, tries = 0;
    while (taken.has(place) && tries++ < looks) place = (place + 1) % looks;
    taken.add(place);
    out.set(name, place);
  }
  return out;
}

function hash(text: string): number {
  let h = 2166136261;
  for (const c of text) h = Math.imul(h ^ c.charCodeAt(0), 16777619);
  return h >>> 0;
}
