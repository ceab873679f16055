// The bundled exchange as it would be with paper and live runs: for proxy's rule json.

export const secrets = ["api_key", "api_secret"];

export function withLive() {
  return {
    "/api/v1/exchanges": (list) => list.map((exchange) => (exchange.id !== "sample" ? exchange : {
      ...exchange, modes: ["backtest", "paper", "live"], requires_credentials: true,
      config_schema: {
        type: "object", required: secrets, additionalProperties: false,
        properties: {
          api_key: { type: "string", title: "API key", format: "password", minLength: 8 },
          api_secret: { type: "string", title: "API secret", format: "password", minLength: 8 },
          subaccount: { type: "string", title: "Subaccount", default: "" },
        },
      },
    })),
  };
}

/** The limits that a service with live runs names in its hello; for proxy's rule frame. */
export function withRisk(message) {
  if (message.type === "hello") message.payload.risk = { "max-order-notional": 250, "max-drawdown": 0.1 };
  return [[0, message]];
}

/** The running backtest as a paper run: what a status says of its mode. */
export function paper() {
  const change = (body) => Object.assign(body, body.status === "running" ? { mode: "paper", progress: null, candles_total: null, eta_seconds: null } : {});
  return rewrite(change);
}

/** The ended backtest as a paper run that was cut short. */
export function interrupted() {
  const details = {
    code: "RUN_INTERRUPTED", phase: "trading", candle_time: "2024-03-05T14:00:00.000Z", plugin_exit_code: null, log_tail: [],
    data: { open_orders: 1, positions: { "BTC/USDT": 0.15 } },
  };
  return rewrite((body) => Object.assign(body, body.status === "completed"
    ? { status: "failed", mode: "paper", stop_reason: "error", error: "The service ended during the run.", error_details: details } : {}));
}

/** Changes what the service says of the run wherever it says it. */
function rewrite(change) {
  const told = (body) => (body.error?.code ? body : change(body));
  return {
    json: { "/api/v1/status": told, "/api/v1/results": told },
    frame: (message) => {
      if (["snapshot", "status_update", "progress", "run_result"].includes(message.type) && message.payload.run_id) change(message.payload);
      return [[0, message]];
    },
  };
}
