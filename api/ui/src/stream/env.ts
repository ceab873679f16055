// What the stream needs of the browser, so that tests can do without one.
import type { Health, Results, Status } from "../api/types.ts";
import * as client from "../api/client.ts";

export interface Handlers {
  message(text: unknown): void;
  /** Once, also if the connection never came about. */
  closed(code: number): void;
}

export interface Wire {
  send(text: string): void;
  close(): void;
}

export interface Clock {
  /** Milliseconds that never go back. */
  now(): number;
  /** Calls f once after some milliseconds; returns what prevents it. */
  after(ms: number, f: () => void): () => void;
  random(): number;
}

export interface Env extends Clock {
  open(handlers: Handlers): Wire;
  /** Calls f before the next picture is drawn, or soon when nothing is drawn. */
  soon(f: () => void): void;
  getStatus(): Promise<Status>;
  getHealth(): Promise<Health>;
  getResults(): Promise<Results>;
}

/** The status; "refused" if the service answers something else, null if it does not answer. */
export async function answered(env: Env): Promise<Status | "refused" | null> {
  try {
    return await env.getStatus();
  } catch (e) {
    return e instanceof client.ApiError && !e.lost ? "refused" : null;
  }
}

const path = "/api/v1/ws/status", subprotocol = "assay.v1.rich";

/** An unanswered question about the status means that the service is down. */
const probe = 5_000;

/** The browser. */
export const browser: Env = {
  now: () => performance.now(),
  after(ms, f) {
    const id = setTimeout(f, ms);
    return () => clearTimeout(id);
  },
  random: Math.random,
  open: openSocket,
  soon,
  getStatus: () => client.getStatus(probe),
  getHealth: client.getHealth,
  getResults: client.getResults,
};

function openSocket(handlers: Handlers): Wire {
  const url = new URL(path, location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  let socket: WebSocket;
  try {
    socket = new WebSocket(url, subprotocol);
  } catch {
    queueMicrotask(() => handlers.closed(0)); // the browser forbids it
    return { send() {}, close() {} };
  }
  socket.onmessage = (e) => handlers.message(e.data);
  socket.onclose = (e) => handlers.closed(e.code);
  return {
    send: (text) => socket.send(text),
    close() {
      // A dead peer does not answer the closing handshake, so there is no wait for it.
      socket.onmessage = socket.onclose = null;
      socket.close();
    },
  };
}

/** A hidden tab gets no animation frames: a timer stands in, and both are set because the tab may be hidden in between. */
function soon(f: () => void): void {
  const done = () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    f();
  };
  const frame = requestAnimationFrame(done);
  const timer = setTimeout(done, 250);
}
