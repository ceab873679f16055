// The form as a request. Only what is filled in is sent; the service has the defaults.
import type { BacktestRequest, LiveRequest } from "../api/types.ts";
import type { StartRequest } from "../state/session.ts";
import type { FormMode } from "./draft.ts";
import { moment } from "./moment.ts";
import type { Json } from "./schema.ts";

type Values = { [key: string]: Json };

export interface Filled {
  mode: FormMode;
  strategy: string;
  symbols: string[];
  timeframe: string;
  exchange: string;
  start: string;
  end: string;
  cash: string;
  params: Values;
  execution: Values;
  config: Values;
}

export function request(f: Filled): StartRequest {
  const common = {
    strategy_name: f.strategy, strategy_params: f.params, symbols: [...f.symbols], timeframe: f.timeframe.trim(), ...(f.exchange && { exchange: f.exchange }),
  };
  const money = { ...(f.cash.trim() && { initial_cash: Number(f.cash) }), ...(Object.keys(f.execution).length > 0 && { execution: f.execution }) };
  if (f.mode === "backtest") {
    const window = { start_date: moment(f.start)?.text ?? null, end_date: moment(f.end)?.text ?? null };
    return { mode: f.mode, body: { ...common, ...window, ...money } as BacktestRequest };
  }
  // Cash and execution are the account's own in live: the service refuses them there.
  const body = { ...common, mode: f.mode, ...(Object.keys(f.config).length > 0 && { exchange_config: f.config }), ...(f.mode === "paper" && money) };
  return { mode: f.mode, body: body as LiveRequest };
}
