package stream

import "encoding/json"

// The directions of an event.
const (
	FromServer = "server"
	FromClient = "client"
)

// EventDoc describes one type of message for the page /docs/events. It is the only
// list of them.
type EventDoc struct {
	Type string
	// Direction says who sends it: FromServer or FromClient.
	Direction string
	// Clients are those concerned: all or rich.
	Clients string
	// Summary says what it is for.
	Summary string
	Payload []FieldDoc
	// Rate says how often it comes.
	Rate string
	// Example is a payload.
	Example json.RawMessage
}

// FieldDoc describes one field of a payload.
type FieldDoc struct{ Name, Text string }

// Events is every message of the stream, in the order in which a reader meets them.
func Events() []EventDoc {
	return append(append(lifeEvents(), runEvents()...), requestEvents()...)
}

func server(kind, summary, rate, example string, fields ...FieldDoc) EventDoc {
	return EventDoc{Type: kind, Direction: FromServer, Clients: "rich", Summary: summary, Rate: rate, Payload: fields, Example: json.RawMessage(example)}
}

func asks(kind, summary, example string, fields ...FieldDoc) EventDoc {
	return EventDoc{Type: kind, Direction: FromClient, Clients: "rich", Summary: summary, Rate: "at most 10 messages a second",
		Payload: fields, Example: json.RawMessage(example)}
}

func lifeEvents() []EventDoc {
	plain := server("status_update", "The status, for clients without a subprotocol. They get nothing else.", "on connect, on every change, every 15 s",
		`{"status":"running","run_id":"svc_01jd2q7z9v8k3m6t4r1x5c0wbn"}`,
		FieldDoc{"status", "idle, running, completed or failed"}, FieldDoc{"run_id", "empty when idle"})
	plain.Clients = "plain"
	return []EventDoc{plain,
		server("hello", "Who serves the stream and within which limits.", "first frame",
			`{"server_id":"01jd2q7z9v8k3m6t4r1x5c0wbn","service_version":"1.0.0","limits":{"clients":64,"message_bytes":4096,"messages_per_second":10,"broadcasts_per_second":10,"series_points":4000,"rows":500,"outbox_frames":256},"risk":null,"on_stop":"cancel"}`,
			FieldDoc{"server_id", "new with each start of the service"}, FieldDoc{"service_version", "version of the service"},
			FieldDoc{"limits", "bounds of the stream"}, FieldDoc{"risk", "effective risk limits of live runs, or null"},
			FieldDoc{"on_stop", "what a stop does to live orders and positions: cancel, flatten or leave"}),
		server("snapshot", "Everything: the body of GET /status/detailed, thinned further, and the log. Frames behind it continue from here; an entry that is in both has the same id.",
			"second frame, and on request", `{"run_id":"","status":"idle","log":[]}`,
			FieldDoc{"…", "every field of GET /api/v1/status/detailed"}, FieldDoc{"log", "the last 200 lines, oldest first"}),
		server("status_update", "A change of status, or of the phase of a paper or live run.", "each change of status, never delayed or merged; the phase within a quarter of a second",
			`{"status":"running","run_id":"svc_01jd2q7z9v8k3m6t4r1x5c0wbn","mode":"backtest","phase":"starting","previous_status":"idle","stop_reason":null,"error":null,"error_details":null}`,
			FieldDoc{"status", "the new status"}, FieldDoc{"run_id", "empty when idle"}, FieldDoc{"mode", "backtest, paper, live or empty"},
			FieldDoc{"phase", "empty unless running"}, FieldDoc{"previous_status", "the status before; running where only the phase is another one"},
			FieldDoc{"stop_reason", "finished, stopped, shutdown, error or null"}, FieldDoc{"error", "message of a failed run or null"},
			FieldDoc{"error_details", "as in GET /api/v1/status"}),
		server("health", "Checks whose outcome changed.", "on change", `{"status":"degraded","checks":{"disk":{"status":"warn","message":"less than 1 GiB left","checked_at":"2026-11-20T12:00:00.000Z","free_bytes":812345678}}}`,
			FieldDoc{"status", "healthy, degraded or unhealthy"}, FieldDoc{"checks", "the changed checks by name, as in GET /api/v1/health"}),
		server("heartbeat", "Says that the stream is alive.", "every 15 s", `{}`),
		server("server_shutdown", "The service ends; the connection is closed with 1001.", "once", `{"reconnect_after_ms":1000}`,
			FieldDoc{"reconnect_after_ms", "wait this long before the next connection"}),
	}
}

func runEvents() []EventDoc {
	const rows = "backtest at most 1/s, paper and live at most 5/s"
	list := func(kind, what, example string) EventDoc {
		return server(kind, what, rows, example, FieldDoc{"items", "at most 50, as in GET /api/v1/results, the newest first"},
			FieldDoc{"omitted", "how many more there are; a rows request has them"})
	}
	return []EventDoc{
		server("progress", "Where the run stands.", "at most 4/s",
			`{"progress":0.64,"candles_done":1681920,"candles_total":2628000,"candles_per_second":911610,"eta_seconds":1.04,"simulated_time":"2024-03-05T14:00:00.000Z","cash":1834.2,"value":14617.56,"pnl":4617.56,"trade_count":143}`,
			FieldDoc{"progress", "0 to 1; null in paper and live"}, FieldDoc{"candles_done", "candles played so far"}, FieldDoc{"candles_total", "null in paper and live"},
			FieldDoc{"candles_per_second", "average since the begin"}, FieldDoc{"eta_seconds", "null in paper and live"}, FieldDoc{"simulated_time", "close of the newest step"},
			FieldDoc{"cash", "in quote currency"}, FieldDoc{"value", "equity"}, FieldDoc{"pnl", "equity minus the initial cash"}, FieldDoc{"trade_count", "closed round trips"}),
		server("equity", "New points of the equity curve, thinned to 200 with the worst drawdown kept.", "at most 2/s",
			`{"points":[[1709647200000,14617.56,5296.56,0.0123]]}`, FieldDoc{"points", "[ms, equity, cash, drawdown]"}),
		list("order", "Orders that were made or changed, each as it is now.", `{"items":[],"omitted":0}`),
		list("fill", "New fills.", `{"items":[],"omitted":0}`),
		list("trade", "Closed round trips.", `{"items":[],"omitted":0}`),
		list("position", "All open positions, when one of them changed; it replaces the list before.", `{"items":[],"omitted":0}`),
		server("alarms", "All open alarms of a paper or live run, when one of them changed; they replace the list before.", "at most 4/s",
			`{"alarms":[{"id":"a-000001","code":"BALANCE_DRIFT","severity":"error","text":"the account has 500 USDT more than the run's fills explain","since":"2026-11-20T12:00:00.000Z","last":"2026-11-20T12:00:00.000Z","count":1,"acknowledged":false}]}`,
			FieldDoc{"alarms", "as in GET /api/v1/status, the worst first"}),
		server("candle", "A new candle; never in backtests.", "at most 2/s for each symbol",
			`{"symbol":"BTC/USDT","timeframe":"1h","candle":[1709647200000,61900,62010,61850,61975,12.5],"closed":true}`,
			FieldDoc{"symbol", "BASE/QUOTE"}, FieldDoc{"timeframe", "such as 1h"}, FieldDoc{"candle", "[ms, open, high, low, close, volume]"}, FieldDoc{"closed", "whether it is final"}),
		server("annotation", "New points of a series that the strategy publishes, thinned to 200.", "at most 1/s",
			`{"name":"fast","points":[[1709647200000,61850.2]]}`, FieldDoc{"name", "name of the series"}, FieldDoc{"points", "[ms, value]"}),
		server("log", "New lines of the run's log, oldest first.", "at most 5/s",
			`{"lines":[{"time":null,"level":"info","source":"plugin","message":"crossed","fields":{"step":"12"}}],"suppressed":0}`,
			FieldDoc{"lines", "at most 20, the newest: level, source (host, plugin), message, fields, time"}, FieldDoc{"suppressed", "lines that are not shown"}),
	}
}

func requestEvents() []EventDoc {
	id := FieldDoc{"id", "comes back in the answer"}
	return []EventDoc{
		asks("snapshot", "Asks for a snapshot, as after a gap in seq.", `{}`),
		asks("run", "Asks what exactly is run; the stream's other frames do not repeat it.", `{"id":"6"}`, id),
		asks("series", "Asks for a series of the run, thinned for display.",
			`{"id":"7","series":"candles","symbol":"BTC/USDT","from":"2024-01-01","to":"2024-03-01","max_points":2000}`,
			id, FieldDoc{"series", "candles, equity, drawdown, fills or annotation:<name>"}, FieldDoc{"symbol", "for candles and fills of a run of several symbols"},
			FieldDoc{"from", "first moment; the begin of the run if absent"}, FieldDoc{"to", "first moment that is not wanted; the end of the run if absent"},
			FieldDoc{"max_points", "2 to 4000; 2000 if absent"}),
		asks("rows", "Asks for a page of a table, newest first.", `{"id":"8","table":"trades","offset":0,"limit":200}`,
			id, FieldDoc{"table", "orders, fills or trades"}, FieldDoc{"offset", "entries to pass over; 0 if absent"}, FieldDoc{"limit", "1 to 500; 200 if absent"}),
		server("run_result", "Answers a run request.", "reply", `{"id":"6","config":{"strategy_name":"sma_cross","symbols":["BTC/USDT"],"timeframe":"1h"},"annotations":["fast","slow"]}`, id,
			FieldDoc{"config", "as in GET /api/v1/results, as far as it is known"},
			FieldDoc{"annotations", "names of the series that the strategy has published so far"}),
		server("series_result", "Answers a series request.", "reply", `{"id":"7","points":[[1709647200000,61900,62010,61850,61975,12.5]],"method":"aggregate","of":4}`, id,
			FieldDoc{"points", "candles: [ms, open, high, low, close, volume]; equity: [ms, equity, cash, drawdown]; fills: [ms, buys, sells, ambiguous], counted from ms to the next point; others: [ms, value]"},
			FieldDoc{"method", "none, aggregate (candles: first, max, min, last, sum; fills: counts) or lttb+extremes"}, FieldDoc{"of", "points before thinning"}),
		server("rows_result", "Answers a rows request.", "reply", `{"id":"8","items":[],"of":143}`, id,
			FieldDoc{"items", "as in GET /api/v1/results, newest first"}, FieldDoc{"of", "entries in the table"}),
		server("error", "A request that cannot be answered.", "reply", `{"code":"NO_RUN","message":"there is no run","id":"7"}`,
			FieldDoc{"code", "a code of /docs/errors"}, FieldDoc{"message", "for people"}, id),
	}
}
