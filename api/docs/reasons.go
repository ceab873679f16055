package docs

import "strings"

// Reason is why a run failed: error_details.code, what it means and what to do.
type Reason struct {
	Code, Meaning, Advice string
	// Data names members of error_details.data.
	Data []string
	// Kinds are the values of error_details.data.reason, if it is one of a few.
	Kinds []Kind
}

// Kind is one value of error_details.data.reason.
type Kind struct{ Value, Meaning string }

// Anchor is the fragment of the code on /docs/errors. It differs from that of a
// refused request with the same code.
func (r Reason) Anchor() string {
	return "run-" + strings.ToLower(strings.ReplaceAll(r.Code, "_", "-"))
}

// Reasons are the codes of failed runs.
func Reasons() []Reason {
	return append(pluginReasons(), hostReasons()...)
}

func pluginReasons() []Reason {
	return []Reason{
		{Code: "PLUGIN_CRASHED", Meaning: "The process of the strategy ended during the run: it exited, crashed or was killed.",
			Advice: "plugin_exit_code and log_tail show its end. 137 is a kill, often for using more memory than the sandbox allows; look for os.Exit, log.Fatal and a crash in another goroutine."},
		{Code: "PLUGIN_TIMEOUT", Meaning: "The strategy did not decide a step in time: 30 seconds in a backtest, 5 seconds in paper and live.",
			Advice: "Look for an endless loop, a lock or a wait at the candle of candle_time. State that grows with every candle makes steps slower and slower."},
		{Code: "PLUGIN_PROTOCOL_ERROR", Meaning: "The strategy sent a message that the protocol does not allow: NaN or infinity in an intent, an unknown symbol, a text over 256 bytes, a broken message.",
			Advice: "The message names the field. Build the strategy with the current SDK and run its conformance suite.", Data: []string{"step"}},
		{Code: "PLUGIN_DIVERGED", Meaning: "The books kept by the strategy's process and those of the host differ.",
			Advice: "data.step is the first step that differs. Rebuild the strategy with the SDK version of this service, with GOAMD64=v1 and an unmodified SDK.", Data: []string{"step", "candle_time"}},
		{Code: "STRATEGY_ERROR", Meaning: "The strategy returned an error or panicked, or wanted more than 10,000 intents in one step.",
			Advice: "error has its message, data.stack the place of a panic. Reproduce it in a test of the strategy with the same candles.", Data: []string{"step", "stack"}},
	}
}

func hostReasons() []Reason {
	return []Reason{
		{Code: "DATA_ERROR", Meaning: "The candles cannot be used: a damaged dataset, three bad candles in a row, or numbers too large for the ledger.",
			Advice: "Import the candles again with lab data import. In a live run look at what the venue sends for candle_time.", Data: []string{"reason", "step"},
			Kinds: []Kind{
				{"corrupt_dataset", "The stored candles do not match their hash."},
				{"ledger_overflow", "An amount left the range of the ledger: look at initial_cash, quantities and prices."},
			}},
		{Code: "EXCHANGE_ERROR", Meaning: "The exchange or its connector failed.",
			Advice: "data.reason says how. Check the orders and positions on the exchange itself before the next start.", Data: []string{"reason"},
			Kinds: []Kind{
				{"unreachable", "No connection within 120 seconds."},
				{"symbol", "A symbol does not exist there or is not being traded."},
				{"reconcile", "Orders of an earlier run could not be accounted for; the list is in data."},
				{"clock_skew", "The clocks of this machine and the exchange differ too much: synchronise this one."},
				{"connector_crashed", "The connector's process ended too often."},
				{"subscription_refused", "The exchange refused a data or account stream."},
				{"positions_left", "Earlier runs left positions on the account. Nothing was touched; data.left has symbol, quantity and orders. Start with resume flat or release, or settle it there."},
				{"limits_allow_no_order", "The exchange takes no order as small as the limits of risk, or the cash, leave; data.orders has both numbers."},
			}},
		{Code: "EXCHANGE_AUTH_FAILED", Meaning: "The exchange refused the credentials.",
			Advice: "Check the key, its permissions, its list of allowed addresses and whether it has expired."},
		{Code: "RISK_KILL", Meaning: "The run lost more than max-drawdown allows. Its entries were cancelled and positions treated as --on-stop says.",
			Advice: "Look at the trades before the end. Raise the limit only if you would have accepted this loss beforehand."},
		{Code: "STOP_UNCONFIRMED", Meaning: "After a stop the exchange did not confirm within 20 seconds that every order is where it is to be.",
			Advice: "The unconfirmed orders are named in data. Look on the exchange and cancel by hand what is still open."},
		{Code: "RUN_INTERRUPTED", Meaning: "The service ended during the run: it was killed or the machine lost power.",
			Advice: "Results come from the journal up to the interruption. After a paper or live run compare orders and positions with the exchange, then reset. A run is never resumed."},
		{Code: "JOURNAL_QUARANTINED", Meaning: "The journal of live trading was damaged. It was set aside and a new one begun.",
			Advice: "Keep the file that ends in .damaged. Compare orders and positions with the exchange before the next start."},
		{Code: "ARTIFACT_WRITE_FAILED", Meaning: "The files of the run, its registry row or its journal could not be written.",
			Advice: "Make space in the state directory and check its permissions. The results can be read until the reset: save them first."},
		{Code: "INTERNAL_ERROR", Meaning: "The service itself made a mistake.",
			Advice: "The service's log has the cause under the run id. Report it together with /api/v1/results."},
	}
}
