// Questions over the stream and their answers. The server hangs up on more than 10
// messages a second, so they leave through a bucket; while they wait a newer question
// about the same replaces an older one, because the older answer is not shown.
import { ApiError } from "../api/client.ts";
import { Unavailable } from "../state/source.ts";
import { Bucket } from "./bucket.ts";
import type { Clock } from "./env.ts";
import type { Frame } from "./frame.ts";

/** An answer that is not there after this is lost. */
const patience = 20_000;

interface Question {
  id: string;
  key: string;
  text: string;
  resolve(payload: Record<string, unknown>): void;
  reject(reason: Error): void;
}

/** Codes that say: not now, rather than: wrong. */
const passing = new Set(["NO_RUN", "SHUTTING_DOWN"]);

export class Requests {
  private readonly bucket = new Bucket(8, 8);
  private readonly asked = new Map<string, Question & { until: number }>();
  private queue: Question[] = [];
  private cancel: (() => void) | null = null;
  private next = 0;
  private over = false;

  constructor(private readonly clock: Clock, private readonly send: (text: string) => void) {}

  /** Asks; questions that wait and have the same key are superseded, "" supersedes nothing. */
  ask(type: string, payload: Record<string, unknown>, key = ""): Promise<Record<string, unknown>> {
    if (this.over) return Promise.reject(new Unavailable("no connection"));
    const id = String(++this.next);
    const old = this.queue.findIndex((q) => key !== "" && q.key === key);
    if (old >= 0) this.queue.splice(old, 1)[0]!.reject(new Unavailable("superseded by a newer request"));
    return new Promise((resolve, reject) => {
      this.queue.push({ id, key, text: JSON.stringify({ type, payload: { ...payload, id } }), resolve, reject });
      this.flush();
    });
  }

  /** Sends what has no answer of its own, before everything that waits. */
  tell(type: string): void {
    if (this.over) return;
    this.queue.unshift({ id: "", key: "", text: JSON.stringify({ type, payload: {} }), resolve() {}, reject() {} });
    this.flush();
  }

  /** Settles the question that a reply belongs to. */
  answer(frame: Frame): void {
    const question = this.asked.get(String(frame.payload.id));
    if (!question) return;
    this.asked.delete(question.id);
    if (frame.type !== "error") return question.resolve(frame.payload);
    const code = String(frame.payload.code), message = String(frame.payload.message);
    question.reject(passing.has(code) ? new Unavailable(message) : new ApiError(code, message, 0));
  }

  /** Gives up what has waited too long for its answer. */
  expire(): void {
    for (const question of this.asked.values()) {
      if (this.clock.now() < question.until) continue;
      this.asked.delete(question.id);
      question.reject(new Unavailable("no answer"));
    }
  }

  /** The connection is gone, and all questions with it. */
  end(): void {
    this.over = true;
    this.cancel?.();
    const left = [...this.asked.values(), ...this.queue];
    this.asked.clear();
    this.queue = [];
    for (const question of left) question.reject(new Unavailable("the connection was lost"));
  }

  private flush(): void {
    if (this.cancel) return;
    while (this.queue.length > 0) {
      const wait = this.bucket.take(this.clock.now());
      if (wait > 0) {
        this.cancel = this.clock.after(wait, () => {
          this.cancel = null;
          this.flush();
        });
        return;
      }
      const question = this.queue.shift()!;
      if (question.id) this.asked.set(question.id, { ...question, until: this.clock.now() + patience });
      this.send(question.text);
    }
  }
}
