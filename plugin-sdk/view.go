package sdk

import (
	"fmt"
	"math/rand/v2"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Holding is a position as a strategy sees it.
type Holding struct {
	Quantity   float64 // signed: negative when short, zero when flat
	EntryPrice float64 // average
	// CandlesHeld counts candles of the symbol since the one in which the position was opened: 0 in that candle.
	CandlesHeld int64
}

// Step is the state behind a View. Whoever drives a strategy (the simulator, the
// wire, a test) fills it in before each call; authors do not need it. Slices are
// indexed like Symbols.
type Step struct {
	Index        int64
	Time         market.Time
	Warmup       bool
	Symbols      []market.Symbol
	Candles      []market.Candle
	Closed       []bool
	Cash, Equity float64
	Holdings     []Holding
	QuantityStep float64
	OpenOrders   func() []market.Order
	Random       *rand.Rand
	Sink         Sink
}

// Sink receives what a strategy says besides intents.
type Sink interface {
	// Log receives a line with level debug, info, warn or error and key/value pairs.
	Log(step int64, at market.Time, level, message string, keyvals []any)
	// Publish receives a point of a named series.
	Publish(step int64, at market.Time, name string, value float64)
}

// View is what a strategy may see at one step: the candles that just closed, its
// account after matching, a seeded random source and outlets for log and charts.
// It is valid during the call that received it. Methods that take an optional
// symbol mean the run's first one without it; a symbol that is not part of the
// run panics, which ends the run with STRATEGY_ERROR.
type View struct{ s *Step }

// NewView wraps a Step. Authors do not need it.
func NewView(s *Step) View { return View{s} }

func (v View) index(symbol []Symbol) int {
	if len(symbol) == 0 {
		return 0
	}
	for i, s := range v.s.Symbols {
		if s == symbol[0] {
			return i
		}
	}
	panic(fmt.Sprintf("symbol %s is not part of this run (%v)", symbol[0], v.s.Symbols))
}

// Index counts steps from 0, warm-up included.
func (v View) Index() int64 { return v.s.Index }

// Time is the close time of the step: the only clock a strategy may use.
func (v View) Time() market.Time { return v.s.Time }

// Warmup says that orders would be rejected because the window has not begun.
func (v View) Warmup() bool { return v.s.Warmup }

// Symbols of the run in request order.
func (v View) Symbols() []Symbol { return v.s.Symbols }

// Candle is the newest candle of a symbol. Check Closed in a run of several
// symbols: a symbol without a candle at this step still shows its last one.
func (v View) Candle(symbol ...Symbol) Candle { return v.s.Candles[v.index(symbol)] }

// Closed says whether a candle of the symbol closed at this step.
func (v View) Closed(symbol ...Symbol) bool { return v.s.Closed[v.index(symbol)] }

// Position is what is held of a symbol.
func (v View) Position(symbol ...Symbol) Holding { return v.s.Holdings[v.index(symbol)] }

// Flat says that nothing is held.
func (v View) Flat(symbol ...Symbol) bool { return v.s.Holdings[v.index(symbol)].Quantity == 0 }

// Long says that a positive quantity is held.
func (v View) Long(symbol ...Symbol) bool { return v.s.Holdings[v.index(symbol)].Quantity > 0 }

// Short says that a negative quantity is held.
func (v View) Short(symbol ...Symbol) bool { return v.s.Holdings[v.index(symbol)].Quantity < 0 }

// Cash in quote currency.
func (v View) Cash() float64 { return v.s.Cash }

// Equity is cash plus positions marked at the last close, in quote currency.
func (v View) Equity() float64 { return v.s.Equity }

// QuantityStep is the venue's smallest quantity step; quantities are rounded down to it.
func (v View) QuantityStep() float64 { return v.s.QuantityStep }

// OpenOrders of all symbols, or of the one named, in order of acceptance, bracket children included.
func (v View) OpenOrders(symbol ...Symbol) []Order {
	if v.s.OpenOrders == nil {
		return nil
	}
	all := v.s.OpenOrders()
	if len(symbol) == 0 {
		return all
	}
	v.index(symbol)
	kept := make([]Order, 0, len(all))
	for _, o := range all {
		if o.Symbol == symbol[0] {
			kept = append(kept, o)
		}
	}
	return kept
}

// Rand is a random source seeded from the run's root seed: the same run draws the same numbers.
func (v View) Rand() *rand.Rand { return v.s.Random }

// Log writes a line with key/value pairs to the run's log.
func (v View) Log(message string, keyvals ...any) { v.log("info", message, keyvals) }

// Warn is Log at level warn.
func (v View) Warn(message string, keyvals ...any) { v.log("warn", message, keyvals) }

// Debug is Log at level debug.
func (v View) Debug(message string, keyvals ...any) { v.log("debug", message, keyvals) }

func (v View) log(level, message string, keyvals []any) {
	if v.s.Sink != nil {
		v.s.Sink.Log(v.s.Index, v.s.Time, level, message, keyvals)
	}
}

// Publish adds a point to a named series for charts: an indicator value, say.
// Points that are not finite are left out.
func (v View) Publish(name string, value float64) {
	if v.s.Sink != nil {
		v.s.Sink.Publish(v.s.Index, v.s.Time, name, value)
	}
}
