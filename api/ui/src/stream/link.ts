// Keeps the page connected: the stream while it works, questions about the status while
// it does not, and attempts to get it back.
import type { Hello, Status } from "../api/types.ts";
import { heardAt } from "../state/clock.ts";
import { connectingSource, offlineSource, source, streamSource } from "../state/source.ts";
import * as store from "../state/store.ts";
import { backoff } from "./backoff.ts";
import { Ending } from "./ending.ts";
import { answered, type Env } from "./env.ts";
import type { Frame } from "./frame.ts";
import { apply, withStatus } from "./frames.ts";
import { hasGap } from "./lines.ts";
import { begin, next, type Event, type Phase } from "./phase.ts";
import { Polling } from "./polling.ts";
import { blank, current, put, type Run } from "./run.ts";
import { Stream } from "./socket.ts";

/** A stream that lasts this long works; one that ends before counts as refused. */
const steady = 5_000;
/** While the page polls the stream is tried so often. */
const background = 15_000;
/** Every frame would otherwise be news about the connection. */
const lastDataStep = 1_000;
/** More frames than a hidden tab should let pile up. */
const mostQueued = 500;
const leaving = "The service is shutting down.", returned = "The service restarted.";
const lostWords = (run: string) => `${returned} Run ${run} was lost.`;

type LiveCandle = NonNullable<(typeof store.liveCandle)["value"]>;

export interface Hooks {
  /** Another process of the service answers than before: lists may differ. */
  restarted(): void;
}

export class Link {
  private phase: Phase = begin;
  private stream: Stream | null = null;
  private queue: Frame[] = [];
  private scheduled = false;
  private otherServer = false;
  private waitAtLeast = 0;
  private configAsked = "";
  /** The run that went on when it was last heard of and is gone since. */
  private gone = "";
  private cancel: () => void = () => {};
  private readonly ending: Ending;
  private readonly polling: Polling;

  constructor(private readonly env: Env, private readonly hooks: Hooks) {
    this.ending = new Ending(env, (run) => this.show(run), () => this.phase.state !== "down");
    this.polling = new Polling(env, {
      heard: (status) => this.heard(status),
      silent: () => {
        this.unreachable();
        if (this.stream === null) this.later();
      },
      restarted: () => {
        store.hello.value = null; // that was another process
        put(current(), true);
        this.restarted();
      },
    });
  }

  /** Connects, and does so from now on whenever it has to. */
  start(): void {
    void this.polling.health();
    void this.first();
    this.connect();
  }

  /** Reads the results now instead of waiting for the next attempt. */
  readResults(): void {
    this.ending.wake();
  }

  /** The next attempt now. */
  retryNow(): void {
    if (this.stream === null) this.attempt();
  }

  /** Takes what an action was answered: the run is known before the stream tells of it. */
  adopt(status: Status): void {
    this.apply();
    this.show(withStatus(current(), status));
    if (this.stream && this.phase.state === "live") this.complete(this.stream);
  }

  private show(run: Run, otherServer = false): void {
    const before = store.results.peek(), was = store.status.peek();
    if (was.status === "running" && run.status.run_id !== was.run_id) this.gone = was.run_id;
    put(run, otherServer);
    this.complain();
    const { state } = this.phase;
    if (run.results !== before && state !== "live") source.value = state === "connecting" ? connectingSource(run.results) : offlineSource(run.results);
    this.ending.check();
  }

  private step(event: Event, retryAt = 0): void {
    const before = this.phase.state;
    this.phase = next(this.phase, event);
    const { state } = this.phase;
    const at = (before === "live" || state === "live") && this.stream?.lastData;
    this.tell({ state, retryAt, ...(at ? { lastData: at, lastFrame: at } : {}) });
    if (before === "down" && state !== "down") this.ending.wake();
    if (state === "polling") this.polling.start();
    else this.polling.stop();
    if (state !== before && (state === "polling" || state === "down")) source.value = offlineSource(store.results.peek());
  }

  private tell(news: Partial<store.Connection>): void {
    store.connection.value = { ...store.connection.peek(), ...news };
  }

  private attempt(): void {
    this.cancel();
    if (this.phase.state === "down") void this.knock();
    else this.connect();
  }

  /** A service that was gone is asked for its status before the stream is tried. */
  private async knock(): Promise<void> {
    this.tell({ retryAt: 0 });
    try {
      await this.probe("heard");
    } finally {
      if (this.stream === null && this.phase.state === "down") this.later();
      else if (this.stream === null) this.connect();
    }
  }

  private later(): void {
    const { state, failures } = this.phase;
    const random = this.env.random();
    const wait = Math.max(this.waitAtLeast, state === "polling" ? background * (0.8 + 0.4 * random) : backoff(Math.max(0, failures - 1), random));
    this.waitAtLeast = 0;
    this.cancel();
    this.cancel = this.env.after(wait, () => this.attempt());
    this.tell({ retryAt: this.env.now() + wait });
  }

  private connect(): void {
    this.configAsked = "";
    this.tell({ retryAt: 0 });
    this.stream = new Stream(this.env, {
      heard: (timestamp) => this.fresh(timestamp),
      frames: (frames) => this.enqueue(frames),
      closed: () => void this.lost(),
      running: () => store.running.peek(),
    });
  }

  /** The stream has ended. Whether the service is gone too decides what the page says. */
  private async lost(): Promise<void> {
    const { since } = this.stream!;
    const worked = since > 0 && this.env.now() - since >= steady;
    if (worked) this.step("steady");
    this.step("lost");
    this.stream = null;
    this.apply();
    try {
      await this.probe(worked ? "broke" : "refused");
    } finally {
      if (this.stream === null) this.later(); // also when whoever draws the status has failed
    }
  }

  /** Asks for the status; an answer means the event. */
  private async probe(event: Event): Promise<void> {
    const status = await answered(this.env);
    if (status === null) this.unreachable();
    else if (status === "refused") this.step(event);
    else this.heard(status, event);
  }

  /** The status is a small answer: it says what is on while the stream's first word, a big one, is on its way. */
  private async first(): Promise<void> {
    const status = await answered(this.env);
    if (status === null || status === "refused" || this.phase.state !== "connecting" || store.known.peek()) return;
    this.tell({ lastData: this.env.now() });
    this.show(withStatus(current(), status));
  }

  private heard(status: Status, event: Event = "heard"): void {
    if (this.phase.state === "live") return; // the stream knows better
    this.step(event, store.connection.peek().retryAt);
    this.tell({ lastData: this.env.now() });
    this.show(withStatus(current(), status));
  }

  private unreachable(): void {
    if (this.phase.state === "live") return;
    if (store.notice.peek() === leaving) store.notice.value = ""; // it has left: the bar says so
    this.step("silent");
  }

  /** Before its snapshot a connection says nothing about the run. */
  private fresh(timestamp: string): void {
    const now = this.env.now();
    heardAt(timestamp, now);
    if (this.phase.state === "live" && now - store.connection.peek().lastFrame >= lastDataStep) this.tell({ lastData: now, lastFrame: now });
  }

  private enqueue(frames: Frame[]): void {
    this.queue.push(...frames);
    if (this.queue.length > mostQueued) return this.apply();
    if (this.scheduled) return;
    this.scheduled = true;
    this.env.soon(() => {
      this.scheduled = false;
      this.apply();
    });
  }

  /** Applies all that came since the last picture at once. */
  private apply(): void {
    const frames = this.queue;
    this.queue = [];
    if (frames.length === 0) return;
    let run = current(), other = false;
    for (const frame of frames) {
      if (frame.type === "hello") this.greet(frame.payload as unknown as Hello);
      if (frame.type === "server_shutdown") this.goodbye(frame);
      if (frame.type === "snapshot" && this.otherServer) {
        [run, other, this.otherServer] = [blank(store.idle, run.health), true, false];
      }
      run = apply(run, frame);
    }
    run = { ...run, asOf: frames.findLast((f) => f.type !== "hello")?.timestamp ?? run.asOf };
    try {
      this.show(run, other);
    } finally {
      this.after(frames); // also when whoever draws it has failed
    }
  }

  /** What follows from frames beside what they say about the run. */
  private after(frames: Frame[]): void {
    for (const { type, payload } of frames) {
      if (type === "candle" && Array.isArray(payload.candle)) store.liveCandle.value = payload as unknown as LiveCandle;
    }
    const stream = this.stream;
    if (!stream) return;
    if (frames.some((f) => f.type === "snapshot") && this.phase.state !== "live") this.live(stream);
    this.gone = ""; // what disappears from here on was removed by the user
    this.complete(stream);
  }

  private live(stream: Stream): void {
    this.step("snapshot");
    source.value = streamSource((type, payload, key) => stream.requests.ask(type, payload, key));
    this.env.after(steady, () => {
      if (this.stream === stream) this.step("steady");
    });
  }

  /** A run that was announced by its status only: the rest of it is asked for. */
  private complete(stream: Stream): void {
    const { run_id, start_time } = store.status.peek();
    const question = `${run_id} ${store.ended.peek()}`; // at the end all series have their names
    if (run_id === "") return;
    if (start_time === null) stream.askSnapshot();
    if (this.configAsked === question) return;
    this.configAsked = question;
    if (store.ended.peek() && hasGap(store.log.peek())) stream.askSnapshot();
    stream.requests.ask("run", {}).then((payload) => {
      if (store.status.peek().run_id === run_id) put(apply(current(), { type: "run_result", payload, timestamp: "", seq: 0 }));
    }, () => {});
  }

  private greet(hello: Hello): void {
    const before = store.hello.peek();
    if (typeof hello.server_id !== "string") return;
    store.hello.value = hello;
    if (before !== null && before.server_id !== hello.server_id) {
      this.otherServer = true;
      this.polling.forget();
      this.restarted();
    } else if (store.notice.peek() === leaving) {
      store.notice.value = "";
    }
  }

  private goodbye(frame: Frame): void {
    this.waitAtLeast = Number(frame.payload.reconnect_after_ms) || 0;
    store.notice.value = leaving;
  }

  private restarted(): void {
    store.notice.value = returned;
    this.complain();
    this.hooks.restarted();
  }

  /** A restart takes the run along; which of the two is noticed first depends. */
  private complain(): void {
    if (this.gone !== "" && store.notice.peek() === returned) store.notice.value = lostWords(this.gone);
  }
}

