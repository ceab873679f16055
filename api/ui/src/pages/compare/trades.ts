// Which trades runs have in common, and where they part.
import type { Trade } from "../../api/types.ts";

/** A trade that not all of the runs have. */
export interface Parted {
  /** Its place among the runs. */
  run: number;
  trade: Trade;
}

export interface Shared {
  common: number;
  /** How many of its trades each run has alone. */
  only: number[];
  /** Those that not all have, in the order of their entry. */
  parted: Parted[];
}

const keyOf = (t: Trade) => [t.symbol, t.direction, t.entry_time, t.exit_time].join();

/** Trades are the same where market, direction, entry and exit are: sizes differ by the cash that is left. */
export function share(runs: readonly (readonly Trade[])[]): Shared {
  const has = new Map<string, Set<number>>();
  runs.forEach((trades, run) => trades.forEach((t) => has.set(keyOf(t), (has.get(keyOf(t)) ?? new Set()).add(run))));
  const owners = (t: Trade) => has.get(keyOf(t))?.size ?? 0;
  const parted = runs.flatMap((trades, run) => trades.filter((t) => owners(t) < runs.length).map((trade) => ({ run, trade })));
  return {
    common: [...has.values()].filter((of) => of.size === runs.length).length, only: runs.map((trades) => trades.filter((t) => owners(t) === 1).length),
    parted: parted.sort((a, b) => (a.trade.entry_time < b.trade.entry_time ? -1 : a.trade.entry_time > b.trade.entry_time ? 1 : a.run - b.run)),
  };
}
