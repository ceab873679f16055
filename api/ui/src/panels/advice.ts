// What to do after a failed run, by code. /docs/errors says more.
import type { FailureDetails } from "../api/types.ts";

export type FailureCode = FailureDetails["code"];

export interface Advice {
  meaning: string;
  next: string;
}

const advice: Record<FailureCode, Advice> = {
  PLUGIN_CRASHED: {
    meaning: "The strategy's process ended during the run.",
    next: "Read its last lines and the exit code: 137 is a kill, often for memory; otherwise look for os.Exit, log.Fatal or a crash in another goroutine. Then reset and start again.",
  },
  PLUGIN_TIMEOUT: {
    meaning: "The strategy did not decide a step in time: 30 s in a backtest, 5 s in paper and live.",
    next: "Look for an endless loop, a lock or a wait at this candle, and for state that grows with every candle.",
  },
  PLUGIN_PROTOCOL_ERROR: {
    meaning: "The strategy sent a message that the protocol does not allow.",
    next: "The message names the field. Build the strategy with the current SDK and run its conformance suite.",
  },
  PLUGIN_DIVERGED: {
    meaning: "The books of the strategy's process and those of the host differ.",
    next: "Rebuild the strategy with the SDK version of this service, unmodified, with GOAMD64=v1. The first step that differs is given below.",
  },
  NOT_CAUSAL: {
    meaning: "Its signals at one step need later candles.",
    next: "Look for shift(-1), a value of the whole column such as its mean, or fillna backwards, in the column that is named.",
  },
  STRATEGY_ERROR: {
    meaning: "The strategy returned an error, panicked, or wanted more than 10,000 intents in one step.",
    next: "Reproduce it in a test of the strategy with the candles before this time.",
  },
  DATA_ERROR: {
    meaning: "The candles cannot be used.",
    next: "Import them again with lab data import. In a live run look at what the venue sends for this candle.",
  },
  EXCHANGE_ERROR: {
    meaning: "The exchange or its connector failed.",
    next: "Check orders and positions on the exchange itself before the next start.",
  },
  EXCHANGE_AUTH_FAILED: {
    meaning: "The exchange refused the credentials.",
    next: "Check the key, its permissions, its list of allowed addresses and whether it has expired.",
  },
  RISK_KILL: {
    meaning: "The run lost more than max-drawdown allows; its entries were cancelled.",
    next: "Look at the trades before the end. Raise the limit only if you would have accepted this loss beforehand.",
  },
  STOP_UNCONFIRMED: {
    meaning: "The exchange did not confirm within 20 s that every order is cancelled.",
    next: "Look at the exchange now and cancel by hand what is still open there.",
  },
  RUN_INTERRUPTED: {
    meaning: "The service ended during the run: it was killed or the machine lost power.",
    next: "Compare orders and positions with the exchange, then reset. A run is never resumed.",
  },
  JOURNAL_QUARANTINED: {
    meaning: "The journal of live trading was damaged and set aside.",
    next: "Keep the file that ends in .damaged. Compare orders and positions with the exchange before the next start.",
  },
  ARTIFACT_WRITE_FAILED: {
    meaning: "The files of the run, its registry row or its journal could not be written.",
    next: "Save the results first: they can be read until the reset. Then make space in the state directory and check its permissions.",
  },
  INTERNAL_ERROR: {
    meaning: "The service itself made a mistake.",
    next: "Copy the report and send it together with the service's log, which has the cause under the run id.",
  },
};

/** Advice for a code, also for one of a newer service. */
export function adviceFor(code: string): Advice {
  return advice[code as FailureCode] ?? { meaning: "", next: "Copy the report. The linked page describes the codes of this service." };
}

/** Where /docs/errors describes the code of a failed run. */
export function docsLink(code: string): string {
  return "/docs/errors#run-" + code.toLowerCase().replaceAll("_", "-");
}
