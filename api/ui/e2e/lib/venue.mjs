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

/** The exchanges as they would be if they had stored candles only. */
export function withoutPaper() {
  return { "/api/v1/exchanges": (list) => list.map((exchange) => ({ ...exchange, modes: ["backtest"] })) };
}

/** The limits that a service with live runs names in its hello; for proxy's rule frame. */
export function withRisk(message) {
  if (message.type === "hello") message.payload.risk = { "max-order-notional": 250, "max-drawdown": 0.1 };
  return [[0, message]];
}

/** The first candle of a run comes as an alarm about another; for proxy's rule frame. */
export function alarming(message = "the venue has no candle of 00:07") {
  let due = true;
  return (frame) => {
    if (!due || frame.type !== "candle") return [[0, frame]];
    due = false;
    const line = { time: null, level: "warn", source: "host", message, fields: { code: "CANDLE_MISSING" } };
    return [[0, { ...frame, type: "log", payload: { lines: [line], suppressed: 0 } }]];
  };
}
