package sdk

import "github.com/assay-run/assay/plugin-sdk/market"

// Version of the SDK, reported in the Spec.
const Version = "1.0.0"

// Names from package market that authors write all the time.
type (
	// Candle is OHLCV of one symbol over one finished interval.
	Candle = market.Candle
	// Fill is one execution of an order.
	Fill = market.Fill
	// Intent is what a strategy wants.
	Intent = market.Intent
	// Order is an accepted intent with id and state.
	Order = market.Order
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
// Warmup is called once, right after the strategy is made.
type Warmer interface {
	Warmup() int
}

// FillObserver is a Strategy that is called for each of its fills, in order, before the
// OnCandle of the step in which they happened.
//
// OnFill returns nil in this version: intents that it returns end the run with
// STRATEGY_ERROR. Keep them in the strategy and return them from OnCandle, which
// follows at the same close.
type FillObserver interface {
	OnFill(View, Fill) Intents
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
	// MinSymbols and MaxSymbols bound the symbols of a run; 1 if zero.
	MinSymbols, MaxSymbols int
	Supports               Supports
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

// Supports says what a strategy can cope with.
type Supports struct {
	Short       bool // opens short positions
	MultiSymbol bool // trades several symbols in one run
	ScaleFree   bool // decides the same when all prices are multiplied
}
