// How much of the run's risk limits is used, from what the page has: equity and positions.
import type { EquityTuple } from "../../api/types.ts";

export interface Budget {
  name: string;
  /** In quote currency. */
  used: number;
  limit: number;
  share: number;
}

const day = 86_400_000;

/** The gauges of limits that are set; without equity there are none. The service decides by its own numbers. */
export function budgetsOf(risk: Readonly<Record<string, unknown>> | null, equity: readonly EquityTuple[], values: readonly number[], start: number): Budget[] {
  const last = equity.at(-1);
  if (!risk || !last) return [];
  const limit = (name: string) => {
    const value = risk[name];
    return typeof value === "number" || typeof value === "string" ? Number(value) : 0;
  };
  const now = last[1], midnight = Math.floor((last[0] - 1) / day) * day;
  const opening = equity.findLast((p) => p[0] <= midnight)?.[1] ?? start;
  const peak = last[3] < 1 ? now / (1 - last[3]) : Math.max(start, now);
  const gross = values.reduce((sum, v) => sum + Math.abs(v), 0), largest = Math.max(0, ...values.map(Math.abs));
  const loss = Math.max(0, opening - now);
  const all: [string, number, number][] = [
    ["Day's loss", loss, limit("max_daily_loss") * opening],
    ["Day's loss, amount", loss, limit("max_daily_loss_amount")],
    ["Drawdown", peak - now, limit("max_drawdown") * peak],
    ["Largest position", largest, limit("max_position_fraction") * now],
    ["Largest position, amount", largest, limit("max_position_notional")],
    ["All positions", gross, limit("max_gross_fraction") * now],
    ["All positions, amount", gross, limit("max_gross_notional")],
  ];
  return all.filter(([, , l]) => l > 0).map(([name, used, l]) => ({ name, used, limit: l, share: used / l }));
}
