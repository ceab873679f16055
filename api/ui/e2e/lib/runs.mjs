// Run after run in front of one page.
import { held } from "./measure.mjs";
import { until } from "./wait.mjs";

/** So many backtests; what the page holds then, always with the same things on it. */
export async function runs(visit, service, count) {
  for (let i = 0; i < count; i++) {
    await service.clear();
    await visit.says("idle");
    await service.backtest("sma_cross", { strategy_params: { fast: 5 + (i % 7), slow: 30 } });
    await service.reaches("completed");
    await visit.says("completed");
    await visit.has(await service.get("/results", { Prefer: "points=2, rows=0" }));
  }
  await visit.open("Trades");
  await until(async () => (await visit.rows("Trades")).length > 3, "the rows");
  return held(visit.page);
}
