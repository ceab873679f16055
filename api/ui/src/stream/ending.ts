// Once a run has ended its last status and its /results are read, which are the truth:
// they replace what frames have told.
import { ApiError } from "../api/client.ts";
import type { Results, Status } from "../api/types.ts";
import * as store from "../state/store.ts";
import { backoff } from "./backoff.ts";
import { tuple } from "./curve.ts";
import type { Env } from "./env.ts";
import { reportOf } from "./frames.ts";
import { current, type Run } from "./run.ts";

/** Rows of /results that are kept as the newest ones. */
const newest = 200;

/** The run as its status and its results say. */
export function finished(run: Run, status: Status, results: Results): Run {
  const last = <T>(rows: T[]): T[] => rows.slice(-newest).reverse();
  return {
    ...run, status, results, config: results.config, report: reportOf({ ...results, stop_reason: status.stop_reason, status: results.status as Status["status"] }), positions: results.positions,
    equity: results.equity_curve.map(tuple),
    recent: { orders: last(results.orders), fills: last(results.fills), trades: last(results.trades), total: results.rows_total },
  };
}

export class Ending {
  /** The run whose results are being read. */
  private loading = "";
  private failures = 0;
  private round = 0;
  private cancel: () => void = () => {};

  constructor(private readonly env: Env, private readonly show: (run: Run) => void, private readonly reachable: () => boolean) {}

  /** Reads the results if the current run needs them; called whenever the status may have changed. */
  check(): void {
    const run = current(), id = run.status.run_id;
    if (!needed(run) || id === this.loading) return;
    if (this.loading !== "") store.resultsProblem.value = null; // that was another run's
    this.loading = id;
    this.failures = 0;
    void this.load(id, ++this.round);
  }

  /** The service answers again: what waits for its next attempt need not. */
  wake(): void {
    if (this.loading === "" || this.failures === 0) return;
    this.loading = "";
    this.check();
  }

  private async load(id: string, round: number): Promise<void> {
    this.cancel();
    try {
      if (this.reachable()) await this.read(id);
    } catch (e) {
      // Results that are not ready come soon; anything else is worth a word.
      const said = store.resultsProblem.peek()?.message;
      if (round === this.round && e instanceof ApiError && e.code !== "RESULTS_NOT_READY" && e.message !== said) store.resultsProblem.value = e;
    }
    if (round !== this.round) return;
    const run = current();
    if (!needed(run) || run.status.run_id !== id) {
      this.loading = "";
      store.resultsProblem.value = null;
      return this.check();
    }
    this.cancel = this.env.after(backoff(this.failures++, this.env.random()), () => void this.load(id, round));
  }

  /** The results are those of the current run, which may be another one by now. */
  private async read(id: string): Promise<void> {
    const status = await this.env.getStatus();
    if (status.run_id !== id) return;
    const results = await this.env.getResults();
    const run = current();
    if (run.status.run_id === id && results.run_id === id && results.status !== "running") this.show(finished(run, status, results));
  }
}

function needed(run: Run): boolean {
  return (run.status.status === "completed" || run.status.status === "failed") && run.results === null;
}
