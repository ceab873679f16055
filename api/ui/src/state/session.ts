// What a person can do, and how the page keeps up with the service. begin is called once.
import { computed, effect } from "@preact/signals";
import type { BacktestRequest, ControlRequest, LiveRequest, RunResponse } from "../api/types.ts";
import * as client from "../api/client.ts";
import { backoff } from "../stream/backoff.ts";
import { browser } from "../stream/env.ts";
import { Link } from "../stream/link.ts";
import { randomKey, repeated, sleep } from "./repeat.ts";
import * as store from "./store.ts";

const link = new Link(browser, { restarted: loadLists });
let lists = 0;
/** A list could not be loaded: it is tried again as soon as the service is known to answer. */
let behind = false;
const answering = computed(() => store.connection.value.state === "live" || store.connection.value.state === "polling");

/** Opens the stream and keeps all signals of the store current. */
export function begin(): void {
  link.start();
  effect(() => {
    if (answering.value && behind) loadLists();
  });
  addEventListener("online", retryNow);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && store.connection.peek().state === "down") retryNow();
  });
}

/** Asks for the lists now, whatever waits for its next attempt. */
export function loadLists(): void {
  const round = ++lists;
  behind = false;
  void load(round, "strategies", client.getStrategies, (list) => (store.strategies.value = list));
  void load(round, "exchanges", client.getExchanges, (list) => (store.exchanges.value = list));
}

/** Asks until an answer came or another round has begun. */
async function load<T>(round: number, name: keyof typeof store.listProblems.value, get: () => Promise<T>, take: (value: T) => void): Promise<void> {
  for (let failures = 0; round === lists; failures++) {
    try {
      const value = await get();
      if (round !== lists) return;
      take(value);
      store.listProblems.value = { ...store.listProblems.peek(), [name]: undefined };
      return;
    } catch (e) {
      behind = true;
      const before = store.listProblems.peek();
      if (round === lists) store.listProblems.value = { ...before, [name]: { error: e as client.ApiError, times: (before[name]?.times ?? 0) + 1 } };
      await sleep(backoff(failures, Math.random()));
    }
  }
}

export type Positions = NonNullable<ControlRequest["positions"]>;
export type StartRequest = { mode: "backtest"; body: BacktestRequest } | { mode: "paper" | "live"; body: LiveRequest };

/** Starts a run, in the place of the ended run that is named; throws ApiError, and then that run is still there. A lost answer is
 *  asked for again with the same idempotency key. */
export async function start(request: StartRequest, replaced = ""): Promise<RunResponse> {
  const key = randomKey();
  const post = () => (request.mode === "backtest" ? client.startBacktest(request.body, key, replaced) : client.startLive(request.body, key, replaced));
  const answer = await repeated(post);
  store.notice.value = "";
  if (store.status.peek().run_id !== answer.run_id) link.adopt({ ...store.idle, ...answer, mode: request.mode });
  return answer;
}

/** Hands a control to the run. */
export const control = (body: ControlRequest): Promise<RunResponse> => client.controlRun(body);

/** Stops the run; positions says what becomes of them, "" is the service's own way. */
export async function stop(positions: Positions | "" = ""): Promise<RunResponse> {
  const answer = await (positions ? client.controlRun({ action: "stop", positions }) : client.stopRun());
  const now = store.status.peek();
  if (now.run_id === answer.run_id && now.status === "running") {
    link.adopt({ ...now, status: answer.status, message: answer.message, phase: answer.status === "running" ? "stopping" : "" });
  }
  return answer;
}

export async function reset(): Promise<RunResponse> {
  const answer = await client.resetRun();
  if (answer.run_id !== "" && store.status.peek().run_id === answer.run_id) link.adopt(store.idle);
  return answer;
}

/** Reads the results of the ended run now instead of waiting for the next attempt. */
export const readResults = (): void => link.readResults();

/** Tries to connect now instead of waiting for the next attempt. */
export const retryNow = (): void => link.retryNow();
