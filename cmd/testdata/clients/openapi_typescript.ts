// A whole backtest typed by openapi-typescript. Prints what it read as JSON.
import type { components, paths } from "./client/schema.js";

declare const process: { argv: string[] };

type Schemas = components["schemas"];
type Answer<P extends keyof paths, M extends keyof paths[P]> =
  paths[P][M] extends { responses: { 200: { content: { "application/json": infer T } } } } ? T : never;
type Body<P extends keyof paths> =
  paths[P] extends { post: { requestBody?: { content: { "application/json": infer T } } } } ? T : never;

async function get<P extends keyof paths>(path: P): Promise<Answer<P, "get">> {
  const response = await fetch(process.argv[2] + path);
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Answer<P, "get">;
}

async function post<P extends keyof paths>(path: P, body?: Body<P>): Promise<Answer<P, "post">> {
  const response = await fetch(process.argv[2] + path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: body === undefined ? null : JSON.stringify(body),
  });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Answer<P, "post">;
}

const health = await get("/api/v1/health");
const strategies = await get("/api/v1/strategies");
const exchanges = await get("/api/v1/exchanges");
const idle = await get("/api/v1/status");
const started = await post("/api/v1/run/backtest", {
  strategy_name: "sma_cross", symbols: ["BTC/USDT"], timeframe: "1h", start_date: "2020-01-01", end_date: "2020-06-01",
});
let status: Schemas["Status"] = await get("/api/v1/status");
while (status.status === "running") {
  await new Promise<void>((done) => setTimeout(done, 50));
  status = await get("/api/v1/status");
}
const detailed = await get("/api/v1/status/detailed");
const results = await get("/api/v1/results");
const reset = await fetch(process.argv[2] + "/api/v1/run/reset", { method: "DELETE" });
if (!reset.ok) throw new Error(await reset.text());
const after: Schemas["Status"] = await get("/api/v1/status");
console.log(JSON.stringify({
  api_version: health.api_version,
  strategies: strategies.length,
  exchanges: exchanges.length,
  idle: idle.status,
  run_id: started.run_id,
  status: status.status,
  no_error: detailed.error_details === null,
  final_value: results.final_value,
  trades: results.performance_metrics.total_trades,
  points: results.equity_curve.length,
  after: after.status,
}));
