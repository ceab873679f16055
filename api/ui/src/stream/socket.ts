// One connection to the stream, from its opening to its end.
import type { Env, Wire } from "./env.ts";
import { isReply, parse, type Frame } from "./frame.ts";
import { Requests } from "./requests.ts";
import { Sequence } from "./sequence.ts";

/** The service sends a heartbeat every 15 s: this long without anything is a dead connection. */
const silence = 35_000;
/** A connection without a word by then, or without its snapshot, is none. */
const noWord = 5_000, noSnapshot = 15_000;
/** A snapshot that was asked for is asked for again. */
const again = 3_000;
/** A run without news for so long is asked whether some got lost; an answer that does not come is a dead connection.
 *  Numbers older than 5 s turn grey, so the question goes out well before. */
const pulse = 2_000, noPulse = 5_000;

export interface Listener {
  /** A message of whatever kind came, stamped by the service. */
  heard(timestamp: string): void;
  /** Frames in order: hello first, then a snapshot. */
  frames(frames: Frame[]): void;
  /** Once at the end; code 0 if it was this side that gave up. */
  closed(code: number): void;
  running(): boolean;
}

export class Stream {
  /** When the newest message came; 0 before the first. */
  lastData = 0;
  /** When the first snapshot came; 0 before. */
  since = 0;
  readonly requests: Requests;
  private readonly wire: Wire;
  private readonly sequence = new Sequence();
  private readonly begun: number;
  private askedAt = -Infinity;
  private pulseAt = 0; // when the run was asked, if nothing has come since
  private over = false;
  private cancel: () => void = () => {};

  constructor(private readonly env: Env, private readonly listener: Listener) {
    this.begun = env.now();
    this.requests = new Requests(env, (text) => this.wire.send(text));
    this.wire = env.open({ message: (text) => this.message(text), closed: (code) => this.end(code) });
    this.tick();
  }

  /** Ends the connection without telling the listener. */
  close(): void {
    if (this.over) return;
    this.over = true;
    this.cancel();
    this.requests.end();
    this.wire.close();
  }

  /** Asks for a snapshot, unless one is on its way. */
  askSnapshot(): void {
    if (this.over || this.lastData === 0 || this.env.now() - this.askedAt < again) return;
    this.askedAt = this.env.now();
    this.requests.tell("snapshot");
  }

  private message(text: unknown): void {
    if (this.over) return;
    const frame = parse(text);
    if (!frame) return;
    if (this.lastData === 0) this.askedAt = this.env.now(); // the first comes unasked
    this.lastData = this.env.now();
    this.pulseAt = 0;
    this.listener.heard(frame.timestamp);
    if (isReply(frame)) this.requests.answer(frame);
    const { apply, gap } = this.sequence.take(frame);
    if (frame.type === "snapshot" && apply.length > 0) {
      this.since ||= this.env.now();
      this.askedAt = -Infinity;
    }
    if (gap) this.askSnapshot();
    if (apply.length > 0) this.listener.frames(apply);
  }

  private end(code: number): void {
    if (this.over) return;
    this.close();
    this.listener.closed(code);
  }

  /** Once a second: is anybody still there, and has all arrived? */
  private tick(): void {
    this.cancel = this.env.after(1000, () => this.tick());
    const now = this.env.now();
    this.requests.expire();
    if (this.dead(now)) return this.end(0);
    if (this.sequence.waiting) this.askSnapshot();
    if (this.since > 0 && this.pulseAt === 0 && this.listener.running() && now - this.lastData > pulse) this.checkPulse(now);
  }

  private dead(now: number): boolean {
    if (this.since === 0) return now - this.begun > (this.lastData === 0 ? noWord : noSnapshot);
    return now - this.lastData > silence || (this.pulseAt > 0 && now - this.pulseAt > noPulse);
  }

  /** The number in the smallest answer shows whether the last frames before the quiet were lost. */
  private checkPulse(now: number): void {
    this.pulseAt = now;
    this.requests.ask("rows", { table: "trades", limit: 1 }).catch(() => {});
  }
}
