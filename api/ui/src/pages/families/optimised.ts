// The curve of a search as a whole: what the trial that each window's training chose has earned in the window.
import { read } from "../../api/client.ts";
import type { Curve, FamilyResult, Trial } from "../shapes.ts";

type Window = NonNullable<NonNullable<FamilyResult["walk_forward_optimised"]>["windows"]>[number];

/** Curves that each begin with the same cash, one after the other: each goes on where the one before has ended. */
export function stitched(parts: readonly Curve[], cash: number): Curve {
  let level = 1, held = 1, peak = 0;
  const items: Curve["items"] = [], holding: number[][] = [];
  for (const part of parts) {
    for (const p of part.items) {
      const equity = level * p.equity;
      peak = Math.max(peak, equity);
      items.push({ ...p, equity, drawdown: peak > 0 ? 1 - equity / peak : 0 });
    }
    for (const [at, value] of part.holding ?? []) holding.push([at!, held * value!]);
    level *= (part.items.at(-1)?.equity ?? cash) / cash;
    held *= (part.holding?.at(-1)?.[1] ?? cash) / cash;
  }
  return { ...parts[0]!, split: "walk_forward_optimised", items, holding: parts.every((p) => p.holding) ? holding : null };
}

/** Asks for the curve; a window whose training chose no trial is left out, as nothing was held in it. */
export const curveOf = (windows: readonly Window[], trials: readonly Trial[], cash: number) => async (): Promise<Curve> => {
  const run = new Map(trials.map((t) => [t.index, t.run_id]));
  const asked = windows.flatMap((w) => {
    const id = w.chosen_trial === null ? undefined : run.get(w.chosen_trial);
    return id ? [`/runs/${encodeURIComponent(id)}/equity?points=400&split=${encodeURIComponent(w.split_id)}`] : [];
  });
  return stitched(await Promise.all(asked.map((path) => read<Curve>(path))), cash);
};
