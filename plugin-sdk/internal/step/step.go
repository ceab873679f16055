// Package step holds what stands behind an author's View at one step. Whoever drives
// a strategy (package drive, a test of the SDK) fills in a [Step] before each call.
// It is a package of its own so that an author's documentation shows nothing that
// an author cannot use.
package step

import (
	"math/rand/v2"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Step is the state of one step. Slices are indexed like Symbols.
type Step struct {
	Index        int64
	Time         market.Time
	Warmup       bool
	Symbols      []market.Symbol
	Candles      []market.Candle
	Closed       []bool
	Cash, Equity float64
	Positions    []Position
	QuantityStep float64
	OpenOrders   func() []market.Order // nil: none
	Random       *rand.Rand
	Sink         Sink // nil: log lines and points go nowhere

	Timeframe market.Timeframe
	Pasts     []Past // nil where none is kept
	// Larger are the names of the strategy's timeframes besides the run's own. Frames of one that
	// is the run's own are nil.
	Larger []string
	Frames [][]Frame // by entry of Larger, then symbol
	Inputs []Input   // in the order of the Spec
}

// Input is what is known of a series beside the candles.
type Input struct {
	Name string
	market.InputHistory
}

// Remember adds the candles of the step to what is kept of them.
func (s *Step) Remember() {
	for i := range s.Pasts {
		if s.Closed[i] {
			s.Pasts[i].Add(&s.Candles[i])
		}
	}
	for _, frames := range s.Frames {
		for i := range frames {
			var c *market.Candle
			if s.Closed[i] {
				c = &s.Candles[i]
			}
			frames[i].Advance(s.Time, c)
		}
	}
}

// Position has the fields of sdk.Position.
type Position struct {
	Quantity    float64
	EntryPrice  float64
	CandlesHeld int64
}

// Sink receives log lines and points of a strategy.
type Sink interface {
	// Log receives a line with level debug, info, warn or error and key/value pairs.
	Log(step int64, at market.Time, level, message string, keyvals []any)
	// Publish receives a point of a named series of a symbol, or of the run without one.
	Publish(step int64, at market.Time, symbol market.Symbol, name string, value float64)
}

// Ref is one symbol of a Step: what an sdk.SymbolView is made of by conversion.
type Ref struct {
	step   *Step
	symbol int
}

// At refers to symbol i of a step.
func At(s *Step, i int) Ref { return Ref{s, i} }

// Step is the state.
func (r Ref) Step() *Step { return r.step }

// Symbol is the index of the symbol.
func (r Ref) Symbol() int { return r.symbol }
