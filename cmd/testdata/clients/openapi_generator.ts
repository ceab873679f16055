// A whole backtest by the typescript-fetch client of openapi-generator. Prints what it read as JSON.
import { CatalogueApi, Configuration, RunApi, ServiceApi } from "./client/index.js";

declare const process: { argv: string[] };

const configuration = new Configuration({ basePath: process.argv[2] });
const run = new RunApi(configuration);
const catalogue = new CatalogueApi(configuration);
const health = await new ServiceApi(configuration).getHealth();
const strategies = await catalogue.listStrategies();
const exchanges = await catalogue.listExchanges();
const idle = await run.getStatus();
const started = await run.startBacktest({
  backtestRequest: {
    strategyName: "sma_cross", symbols: new Set(["BTC/USDT"]), timeframe: "1h", startDate: "2020-01-01", endDate: "2020-06-01",
  },
});
let status = await run.getStatus();
while (status.status === "running") {
  await new Promise<void>((done) => setTimeout(done, 50));
  status = await run.getStatus();
}
const detailed = await run.getDetailedStatus();
const results = await run.getResults();
await run.resetRun();
console.log(JSON.stringify({
  api_version: health.apiVersion,
  strategies: strategies.length,
  exchanges: exchanges.length,
  idle: idle.status,
  run_id: started.runId,
  status: status.status,
  no_error: detailed.errorDetails === null,
  final_value: results.finalValue,
  trades: results.performanceMetrics.totalTrades,
  points: results.equityCurve.length,
  after: (await run.getStatus()).status,
}));
