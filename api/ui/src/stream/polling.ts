// Without a stream the page asks. It also notices another process of the service then:
// a later begin, as /health tells it.
import type { Health, Status } from "../api/types.ts";
import { heardAt } from "../state/clock.ts";
import * as store from "../state/store.ts";
import { answered, type Env } from "./env.ts";

const every = 2_000;
/** Health changes slowly: it is asked with every so many questions about the status. */
const healthEvery = 5;
/** Clocks are read at different moments: a begin this much later is another process. */
const tolerance = 2_000;

export interface PollingListener {
  heard(status: Status): void;
  silent(): void;
  restarted(): void;
}

/** When the service began, by its own clock, ms. */
export function begun(health: Health): number {
  return Date.parse(health.timestamp) - health.metrics.uptime_seconds * 1000;
}

export class Polling {
  private cancel: (() => void) | null = null;
  private round = 0;
  private asked = 0;
  private begun = 0;

  constructor(private readonly env: Env, private readonly listener: PollingListener) {}

  start(): void {
    if (this.cancel) return;
    this.asked = 0;
    this.wait(++this.round);
  }

  stop(): void {
    this.cancel?.();
    this.cancel = null;
    this.round++;
  }

  /** Another process is known to answer from now on. */
  forget(): void {
    this.begun = 0;
  }

  /** Asks how the service is. */
  async health(): Promise<void> {
    try {
      const health = await this.env.getHealth();
      const now = begun(health), before = this.begun;
      this.begun = now;
      store.health.value = health;
      heardAt(health.timestamp, this.env.now());
      if (before > 0 && now - before > tolerance) this.listener.restarted();
    } catch {
      // Whoever asks for the status notices it too, and says so.
    }
  }

  private wait(round: number): void {
    this.cancel = this.env.after(every, () => void this.ask(round));
  }

  private async ask(round: number): Promise<void> {
    if (this.asked++ % healthEvery === 0) void this.health();
    const status = await answered(this.env);
    if (round !== this.round) return;
    this.wait(round);
    if (status === null) this.listener.silent();
    else if (status !== "refused") this.listener.heard(status);
  }
}
