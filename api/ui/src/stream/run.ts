// All that the page knows of the run, as one value: the reducers make the next one of
// it, and put shows the difference. Parts that did not change stay the same objects, so
// only those who read a changed part draw again.
import { batch } from "@preact/signals";
import type { EquityTuple, Health, LogLine, Position, Results, RunConfig, Status } from "../api/types.ts";
import * as store from "../state/store.ts";

export interface Run {
  status: Status;
  config: RunConfig | null;
  report: store.Report;
  recent: store.Recent;
  positions: Position[];
  equity: EquityTuple[];
  annotations: string[];
  log: LogLine[];
  /** The truth about an ended run; frames do not change what it covers. */
  results: Results | null;
  /** The stamp of the newest frame; "" before the first. */
  asOf: string;
  health: Health | null;
  /** The next log lines may be some that a snapshot has had. */
  overlap: boolean;
}

/** Nothing observes it, so it is no signal. */
let overlap = false;

/** Nothing is known of a run, except how the service is. */
export function blank(status: Status, health: Health | null): Run {
  return {
    status, config: null, positions: [], equity: [], annotations: [], log: [], results: null, asOf: "", health, overlap: false,
    report: { metrics: null, undefined: [], meta: null, assumptions: [], warnings: [] },
    recent: { orders: [], fills: [], trades: [], total: { orders: 0, fills: 0, trades: 0 } },
  };
}

/** What is shown now. */
export function current(): Run {
  return {
    status: store.status.peek(), config: store.config.peek(), report: store.report.peek(), recent: store.recent.peek(),
    positions: store.positions.peek(), equity: store.equity.peek(), annotations: store.annotations.peek(), log: store.log.peek(),
    results: store.results.peek(), asOf: store.asOf.peek(), health: store.health.peek(), overlap,
  };
}

/** Shows a run. Another server may have another run under the same id. */
export function put(next: Run, otherServer = false): void {
  const now = current();
  overlap = next.overlap;
  batch(() => {
    if (otherServer || next.status.run_id !== now.status.run_id) {
      store.generation.value++;
      store.selection.value = null;
      store.liveCandle.value = null;
    }
    if (next.recent !== now.recent) store.revision.value++;
    store.status.value = next.status;
    store.config.value = next.config;
    store.report.value = next.report;
    store.recent.value = next.recent;
    store.positions.value = next.positions;
    store.equity.value = next.equity;
    store.annotations.value = next.annotations;
    store.log.value = next.log;
    store.results.value = next.results;
    store.asOf.value = next.asOf;
    store.health.value = next.health;
  });
}
