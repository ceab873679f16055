// The failure report that a person copies. It is put together from named fields, so that
// nothing is sent that was not shown.
import type { FailureDetails, Hello, LogLine, RunConfig, Status, Strategy } from "../api/types.ts";
import { masked } from "./secrets.ts";

export const tailLines = 50;

/** The last lines the plugin wrote, else those of the run's log. */
export function tail(details: FailureDetails | null, log: LogLine[]): string[] {
  if (details && details.log_tail.length > 0) return details.log_tail.slice(-tailLines);
  return log.slice(-tailLines).map(lineText);
}

/** A log line as one line of text. */
export function lineText(line: LogLine): string {
  const fields = Object.entries(line.fields ?? {}).map(([key, value]) => `${key}=${value}`);
  return [line.time, line.level, line.source, line.message, ...fields].filter(Boolean).join(" ");
}

export function failureReport(run: Status, config: RunConfig | null, strategies: Strategy[] | null, hello: Hello | null, log: LogLine[]): string {
  return JSON.stringify({
    run: {
      run_id: run.run_id, status: run.status, mode: run.mode, error: run.error, message: run.message, start_time: run.start_time,
      end_time: run.end_time, simulated_time: run.simulated_time, candles_done: run.candles_done, candles_total: run.candles_total,
    },
    error_details: run.error_details,
    config: config && picked(config, strategies),
    versions: { service: hello?.service_version ?? null, engine: config?.engine ?? null, strategy: config?.strategy ?? null },
    log: tail(null, log),
  }, null, 2);
}

function picked(c: RunConfig, strategies: Strategy[] | null) {
  const params = masked(c.strategy_params, strategies?.find((s) => s.name === c.strategy_name)?.params_schema);
  return {
    strategy_name: c.strategy_name, strategy_params: params, symbols: c.symbols, timeframe: c.timeframe, start_date: c.start_date,
    end_date: c.end_date, initial_cash: c.initial_cash, exchange: c.exchange, execution: c.execution, mode: c.mode, window: c.window,
    data_hash: c.data_hash, risk: c.risk,
  };
}
