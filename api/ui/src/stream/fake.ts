// A world for tests: a clock that is moved by hand, connections that say what the test
// wants, and a service that answers or does not.
import { ApiError } from "../api/client.ts";
import type { Health, Results, Status } from "../api/types.ts";
import * as store from "../state/store.ts";
import type { Env, Handlers } from "./env.ts";
import type { Frame } from "./frame.ts";
import { blank, put } from "./run.ts";

export class FakeWire {
  readonly sent: { type: string; payload: Record<string, unknown> }[] = [];
  open = true;

  constructor(private readonly handlers: Handlers) {}

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(): void {
    this.open = false;
  }

  says(...frames: Frame[]): void {
    for (const f of frames) this.handlers.message(JSON.stringify(f));
  }

  breaks(code = 1006): void {
    this.open = false;
    this.handlers.closed(code);
  }

  asked(type: string): number {
    return this.sent.filter((m) => m.type === type).length;
  }
}

export class FakeEnv implements Env {
  time = 1000;
  wires: FakeWire[] = [];
  status: Status | null = store.idle;
  health: Health | null = null;
  results: Results | null = null;
  calls = { status: 0, health: 0, results: 0 };
  private timers: { at: number; f: () => void }[] = [];

  now = () => this.time;
  random = () => 0;
  soon = (f: () => void) => void this.after(16, f);

  after = (ms: number, f: () => void) => {
    const timer = { at: this.time + ms, f };
    this.timers.push(timer);
    return () => void (this.timers = this.timers.filter((t) => t !== timer));
  };

  open = (handlers: Handlers) => {
    const wire = new FakeWire(handlers);
    this.wires.push(wire);
    return wire;
  };

  getStatus = () => this.answer("status", this.status);
  getHealth = () => this.answer("health", this.health);
  getResults = () => this.answer("results", this.results);

  get wire(): FakeWire {
    return this.wires.at(-1)!;
  }

  /** Lets time pass, with all that happens meanwhile. */
  async pass(ms: number): Promise<void> {
    const end = this.time + ms;
    for (;;) {
      await settled();
      const next = this.timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.timers = this.timers.filter((t) => t !== next);
      this.time = Math.max(this.time, next.at);
      next.f();
    }
    this.time = end;
  }

  /** null stands for no answer. */
  private async answer<T>(call: keyof typeof this.calls, value: T | null): Promise<T> {
    this.calls[call]++;
    if (value === null) throw new ApiError("NETWORK", "nobody there", 0);
    return structuredClone(value);
  }
}

async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

/** The page as it is after loading. */
export function emptyPage(): void {
  put(blank(store.idle, null), true);
  store.hello.value = null;
  store.notice.value = "";
  store.connection.value = { state: "connecting", lastData: 0, lastFrame: 0, retryAt: 0 };
}

const timestamp = "2026-11-20T12:00:01.000Z";
export const frame = (type: string, seq: number, payload: unknown = {}): Frame => ({ type, seq, timestamp, payload: payload as Frame["payload"] });
export const hello = (seq = 0, server_id = "a") => frame("hello", seq, { server_id, service_version: "1", limits: {}, risk: null, on_stop: "cancel" });

export function running(run_id = "svc_1"): Status {
  return { ...store.idle, run_id, status: "running", mode: "backtest", phase: "trading", start_time: "2026-11-20T12:00:00.000Z", progress: 0.1 };
}

export const snapshot = (seq: number, status: Status = store.idle, more: object = {}) =>
  frame("snapshot", seq, { ...status, recent_orders: [], recent_fills: [], recent_trades: [], positions: [], equity_curve: [],
    rows_total: { orders: 0, fills: 0, trades: 0 }, log: [], performance_metrics_undefined: [], assumptions: [], warnings: [], ...more });

export const update = (seq: number, status: string, run_id: string) =>
  frame("status_update", seq, { status, run_id, mode: "backtest", phase: "", previous_status: "", stop_reason: null, error: null, error_details: null });

/** Trades from, from-1, …: the newest first. */
export const trades = (from: number, n: number) => Array.from({ length: n }, (_, i) => ({ trade_id: `t-${String(from - i).padStart(6, "0")}` }));
