// Package sdk is what the author of a strategy writes against.
//
// # What to use first
//
// A strategy is a separate program. Its main is one call, with a description and a
// constructor:
//
//	func main() {
//		serve.Strategy(sdk.Spec{Name: "sma_cross", Version: "1.0.0"}, newSMACross)
//	}
//
// The constructor takes parameters, a struct with tags, and returns a [Strategy]. Its
// one method, OnCandle, gets a [View] of the step and returns [Intents]:
//
//	func (s *smaCross) OnCandle(v sdk.View) (sdk.Intents, error) {
//		s.fast.Add(v.Candle().Close)
//		s.slow.Add(v.Candle().Close)
//		switch {
//		case v.Flat() && s.fast.CrossedAbove(&s.slow):
//			return sdk.Buy(sdk.AllCash()).StopLoss(sdk.Percent(0.05)), nil
//		case v.Long() && s.fast.CrossedBelow(&s.slow):
//			return sdk.ClosePosition(), nil
//		}
//		return nil, nil
//	}
//
// Most strategies need no more than [Buy], [Sell] and [ClosePosition], a size ([AllCash],
// [CashFraction], [QuoteAmount], [Quantity]) and the averages of package indicator.
//
// # Orders
//
// A builder starts an order ([Buy], [Sell], [ClosePosition]) or changes one that is open
// ([Cancel], [CancelAll], [Replace]). The methods of [Intents] refine it ([Intents.Limit],
// [Intents.Stop], [Intents.StopLoss], [Intents.Tag]) and leave their receiver as it is.
// [Intents.And] joins lists. Every new order needs a [Size]; [WholePosition] is all that is
// held. An order that cannot be executed ends with a [Reason], such as
// market.ReasonInsufficientCash.
//
// # Several symbols
//
// A [View] is that of the run's first symbol. [View.For] is that of another one, and
// [Intents.On] sends an order there. Cash, equity, clock and log are of the whole run.
//
// # Optional methods
//
// A strategy may also be a [Warmer], [Starter], [FillObserver] or [Stopper]. The methods are
// found by their signature; nothing is registered.
//
// # Parameters
//
// They are the fields of a struct: integers, float64, bool or string.
//
//	type params struct {
//		Fast int     `param:"fast" default:"10" min:"1" max:"500" doc:"Candles in the fast average"`
//		Risk float64 `param:"risk" default:"0.02" above:"0" max:"0.9" search:"log"`
//		Mode string  `param:"mode" default:"close" enum:"close,typical"`
//	}
//
// The tags:
//
//	param     name in JSON, ^[a-z][a-z0-9_]{0,62}$; "-" leaves the field out
//	default   value when the user gives none; the zero value if absent
//	min, max  inclusive bounds of a number
//	above     exclusive lower bound
//	below     exclusive upper bound
//	enum      the allowed values, separated by commas
//	doc       one sentence for people
//	title     label of the form field
//	unit      what is counted, for the form
//	group     heading of the form
//	step      step of the form field and of grid searches
//	search    how to search: log, linear, off and low..high, separated by commas
//
// Fields of embedded structs count as fields of the struct itself; fields that are not
// exported and have no tag are the author's own. A constructor refuses a combination of
// values with [InvalidParam].
//
// # Determinism
//
// The same candles and parameters must lead to the same intents. Use [View.Time] and
// [View.Rand], never the wall clock or the global random source; keep what a run
// remembers in fields of the strategy.
//
// # Compatibility
//
// What is exported here and in packages market, indicator, serve and sdktest keeps its
// meaning within a major [Version]: a strategy that compiles with 1.0 compiles with every
// later 1.x and decides the same. Structs may gain fields, so name the fields in a
// literal; View may gain methods; new interfaces are optional. A change of the simulator's
// rules shows in sim.ID and never happens silently. The other packages below plugin-sdk
// carry the protocol between host and plugin and promise only that a host understands the
// plugins of every protocol version that it lists.
//
// The package imports market and internal/step only. The simulator, the wire and the test
// helpers live beside it in sim, wire, serve and sdktest.
package sdk
