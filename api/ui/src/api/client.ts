// Requests to /api/v1. Every failure is an ApiError: what the server said, or code
// NETWORK when it said nothing.
import type { BacktestRequest, ControlRequest, ErrorBody, Exchange, FieldError, Health, LiveRequest, Results, RunResponse, Status, Strategy } from "./types.ts";

export const base = "/api/v1";

/** A refused or lost request. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status: number,
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
  }

  /** Mistakes by JSON pointer into the request. */
  get fields(): FieldError[] {
    return Array.isArray(this.details.errors) ? (this.details.errors as FieldError[]) : [];
  }

  /** Whether no answer came at all. */
  get lost(): boolean {
    return this.code === "NETWORK";
  }
}

/** What a refusal says. */
export function refused(status: number, answer: unknown): ApiError {
  const error = (answer as { error?: ErrorBody }).error;
  return new ApiError(error?.code ?? "UNKNOWN", error?.message ?? `status ${status}`, status, error?.details ?? {});
}

async function request<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}, patience = 60_000): Promise<T> {
  let response: Response;
  try {
    response = await fetch(base + path, {
      method,
      headers: body === undefined ? headers : { ...headers, "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-cache",
      signal: AbortSignal.timeout(patience),
    });
  } catch (e) {
    throw new ApiError("NETWORK", "The service does not answer: " + (e as Error).message, 0);
  }
  let answer: unknown;
  try {
    answer = await response.json();
  } catch {
    throw new ApiError("NETWORK", `The service's answer broke off (status ${response.status})`, response.status);
  }
  if (!response.ok) throw refused(response.status, answer);
  return answer as T;
}

/** What only reads, by its path below /api/v1. */
export const read = <T>(path: string) => request<T>("GET", path);
/** What changes something: a note, a look, a job. */
export const send = <T>(method: "POST" | "PUT" | "DELETE", path: string, body?: unknown, headers: Record<string, string> = {}) => request<T>(method, path, body, headers);

export const getHealth = () => request<Health>("GET", "/health");
export const getStatus = (patience?: number) => request<Status>("GET", "/status", undefined, {}, patience);
export const getStrategies = () => request<Strategy[]>("GET", "/strategies");
export const getExchanges = () => request<Exchange[]>("GET", "/exchanges");
/** The results thinned for display. */
export const getResults = () => request<Results>("GET", "/results", undefined, { Prefer: "points=2000, rows=500" });
/** A start may be repeated with the same key when its answer was lost. It may take the place of an ended run. */
const starting = (key: string, replaced: string) => ({ "Idempotency-Key": key, ...(replaced && { "Replace-Run": replaced }) });
export const startBacktest = (body: BacktestRequest, key: string, replaced: string) =>
  request<RunResponse>("POST", "/run/backtest", body, starting(key, replaced));
export const startLive = (body: LiveRequest, key: string, replaced: string) =>
  request<RunResponse>("POST", "/run/live", body, starting(key, replaced));
export const stopRun = () => request<RunResponse>("POST", "/run/stop");
export const controlRun = (body: ControlRequest) => request<RunResponse>("POST", "/run/controls", body);
export const resetRun = () => request<RunResponse>("DELETE", "/run/reset");
