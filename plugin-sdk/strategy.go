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
// [EquityFraction], [CashFraction], [Quantity]) and the averages of package indicator.
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
// A strategy may also be a [HistoryReader], [Warmer], [Starter], [FillObserver],
// [RejectObserver] or [Stopper]. The methods are found by their signature; nothing is registered.
//
// # Earlier candles and larger timeframes
//
// With Lookback, v.History(20) and v.Close(5) show candles before the newest. With
// Spec.Extra, v.At("1d") is the symbol in days, built from the run's candles. With Spec.Inputs,
// v.Input("funding") is a series beside the candles, of which each value shows when it became known.
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

import (
	"strings"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Version of the SDK, reported in the Spec.
const Version = "1.0.0"

// Names from package market that authors write all the time.
type (
	// Candle is OHLCV of one symbol over one finished interval.
	Candle = market.Candle
	// Fill is one execution of an order.
	Fill = market.Fill
	// Intent is what a strategy asks for.
	Intent = market.Intent
	// Order is an accepted intent with id and state.
	Order = market.Order
	// Reason is the code of why an order did not come to its fill.
	Reason = market.Reason
	// Symbol is BASE/QUOTE.
	Symbol = market.Symbol
	// Timeframe is the length of a candle.
	Timeframe = market.Timeframe
)

// Strategy decides what to do at the close of each step.
//
// OnCandle is called once per step with every symbol that closed, in time order,
// always from one goroutine and never after an error. The step has been matched
// already: fills of this candle are in the View. Returned intents become orders at
// this close and can fill from the next candle on. A returned error and a panic
// end the run with STRATEGY_ERROR; an intent that cannot be executed is rejected
// with a reason and the run goes on.
//
// The returned slice is read before the next call and may be reused.
type Strategy interface {
	OnCandle(View) (Intents, error)
}

// Warmer is a Strategy that asks for candles from before the window. During them
// OnCandle is called as usual, but intents are rejected with the code "warmup".
// Warmup is called once, right after the strategy is made. A [HistoryReader] needs none.
type Warmer interface {
	Warmup() int
}

// FillObserver is a Strategy that is called for each of its fills before the OnCandle of the
// step in which they happened. What it returns becomes orders at that close, before the
// intents of OnCandle, and can fill from the next candle on. OnFill and OnReject return at
// most 100 intents at one step together.
type FillObserver interface {
	OnFill(View, Fill) Intents
}

// RejectObserver is a Strategy that is called for each of its orders that was rejected, like a
// FillObserver and in the order of events with it. An order that is rejected at a close is told
// at the next step. What is canceled or expired is not told.
type RejectObserver interface {
	OnReject(View, Rejection) Intents
}

// Rejection is an order that was rejected: by the simulator, the venue or the limits of the account.
type Rejection struct {
	Order  Order
	Reason Reason // such as market.ReasonInsufficientCash
}

// Starter is a Strategy that is called at the first step, before OnFill and OnCandle.
type Starter interface {
	OnStart(View)
}

// Stopper is a Strategy that is called when no further step will come.
type Stopper interface {
	OnStop(View)
}

// Spec describes a strategy to the host. Only Name is required.
type Spec struct {
	// Name is ^[a-z][a-z0-9_-]{0,62}$.
	Name        string
	DisplayName string // for people; Name if empty
	Version     string // the author's own; "0.0.0" if empty
	Description string
	Author      string
	// Modes that the strategy runs in; all of them if empty.
	Modes []Mode
	// Timeframes that the strategy works on, given by [Timeframes]; every one if empty.
	Timeframes []Timeframe
	// Extra are larger timeframes that the strategy reads as well, given by [Timeframes], see
	// [SymbolView.At]. Each must be an exact multiple of the run's, or the run's own.
	Extra []Timeframe
	// Inputs are series beside the candles that the strategy reads, see [View.Input].
	Inputs []Input
	// MinSymbols and MaxSymbols bound the symbols of a run; 1 if zero.
	MinSymbols, MaxSymbols int
	Supports               Supports
	// TrainedUntil is the last day of the data that the strategy was made with, such as
	// 2023-06-30, or the moment at which they end, such as 2023-06-30T12:00:00.000Z: a model's
	// training data, and the prices that its rules were found on. Results on earlier candles are
	// no evidence. Empty: not declared.
	TrainedUntil string
	// Plots say how charts draw what the strategy publishes.
	Plots []Plot
	// FreshProcess asks for a process per run: of a strategy that keeps state outside of what its
	// constructor returns, such as in package variables. Otherwise a search plays its trials one after
	// another in the same process.
	FreshProcess bool
}

// Mode is a way of running a strategy.
type Mode string

// The modes.
const (
	ModeBacktest Mode = "backtest" // on stored candles, in the simulator
	ModePaper    Mode = "paper"    // on live candles, in the simulator
	ModeLive     Mode = "live"     // on live candles, with orders at a venue
)

// Timeframes reads names such as 1h for [Spec]. It panics on a name that is none.
func Timeframes(names ...string) []Timeframe {
	list := make([]Timeframe, len(names))
	for i, name := range names {
		list[i] = market.MustTimeframe(name)
	}
	return list
}

// Supports is what a strategy can cope with.
type Supports struct {
	Short       bool // opens short positions
	MultiSymbol bool // trades several symbols in one run
	ScaleFree   bool // decides the same when all prices are multiplied
	// Calendar is what it reads off the date of a candle; the time of day is always allowed.
	Calendar Calendar
}

// Calendar is a feature of dates that decisions depend on.
type Calendar string

// The features. Without one, a strategy decides the same on whatever day its candles are.
const (
	CalendarNone    Calendar = ""
	CalendarWeekday Calendar = "weekday" // day of the week
	CalendarDate    Calendar = "date"    // month and day of the month
	CalendarBoth    Calendar = "both"    // both of them
)

// Valid reports whether c is one of the features.
func (c Calendar) Valid() bool {
	switch c {
	case CalendarNone, CalendarWeekday, CalendarDate, CalendarBoth:
		return true
	}
	return false
}

// ParamError is one bad parameter.
type ParamError struct {
	// Pointer is the RFC 6901 JSON pointer inside the parameters; "" means all of them.
	Pointer string
	Message string
}

// Error names the parameter and what is wrong with it.
func (e *ParamError) Error() string {
	if e.Pointer == "" {
		return e.Message
	}
	return e.Pointer + ": " + e.Message
}

// InvalidParam is the error of a constructor that refuses a parameter, a [*ParamError].
// Several go together with errors.Join.
func InvalidParam(name, message string) error {
	pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	return &ParamError{Pointer: pointer, Message: message}
}
