package sdk

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/assay-run/assay/plugin-sdk/internal/step"
)

// View is what a strategy may see at one step: the candles that just closed, its
// account after matching, a seeded random source and outlets for log lines and charts.
// It is valid during the call that received it.
//
// A View is the [SymbolView] of the run's first symbol, so that v.Candle() is all that
// a strategy for one symbol needs; [View.For] is that of another one.
type View struct{ SymbolView }

// SymbolView is one symbol of a View. [View.For] makes it; it is valid as long as the
// View.
type SymbolView step.Ref

// Position is what a strategy holds of one symbol.
type Position struct {
	Quantity   float64 // signed: negative when short, zero when flat
	EntryPrice float64 // average
	// CandlesHeld counts candles of the symbol since the one in which the position was
	// opened: 0 in that candle.
	CandlesHeld int64
}

func (v View) step() *step.Step { return step.Ref(v.SymbolView).Step() }

// For is the view of one symbol of the run. A symbol that is not part of the run
// panics, which ends the run with STRATEGY_ERROR.
func (v View) For(symbol Symbol) SymbolView {
	s := v.step()
	for i, known := range s.Symbols {
		if known == symbol {
			return SymbolView(step.At(s, i))
		}
	}
	panic(fmt.Sprintf("symbol %s is not part of this run (%v)", symbol, s.Symbols))
}

// Symbols are those of the run, in request order. The slice must not be changed.
func (v View) Symbols() []Symbol { return v.step().Symbols }

// Index counts steps from 0, warm-up included.
func (v View) Index() int64 { return v.step().Index }

// Time is the close time of the step, in UTC: the only clock a strategy may use.
func (v View) Time() time.Time { return v.step().Time.Time() }

// Warmup reports whether orders would be rejected because the window has not begun.
func (v View) Warmup() bool { return v.step().Warmup }

// Cash is the cash of the account in quote currency.
func (v View) Cash() float64 { return v.step().Cash }

// Equity is cash plus positions marked at the last close, in quote currency.
func (v View) Equity() float64 { return v.step().Equity }

// QuantityStep is the venue's smallest quantity step; quantities are rounded down to it.
func (v View) QuantityStep() float64 { return v.step().QuantityStep }

// AllOpenOrders are the open orders of all symbols in order of acceptance, bracket
// children included.
func (v View) AllOpenOrders() []Order {
	if v.step().OpenOrders == nil {
		return nil
	}
	return v.step().OpenOrders()
}

// Rand is a random source seeded from the run's root seed: the same run draws the same
// numbers.
func (v View) Rand() *rand.Rand { return v.step().Random }

// Log writes a line with key/value pairs to the run's log.
func (v View) Log(message string, keyvals ...any) { v.log("info", message, keyvals) }

// Warn is Log at level warn.
func (v View) Warn(message string, keyvals ...any) { v.log("warn", message, keyvals) }

// Debug is Log at level debug.
func (v View) Debug(message string, keyvals ...any) { v.log("debug", message, keyvals) }

func (v View) log(level, message string, keyvals []any) {
	if s := v.step(); s.Sink != nil {
		s.Sink.Log(s.Index, s.Time, level, message, keyvals)
	}
}

// Publish adds a point to a named series for charts: such as an indicator value. The
// series is of the run, whatever symbol a chart shows; [SymbolView.Publish] has those of
// one symbol. Points that are not finite are left out.
func (v View) Publish(name string, value float64) { v.publish("", name, value) }

func (v View) publish(symbol Symbol, name string, value float64) {
	if s := v.step(); s.Sink != nil {
		s.Sink.Publish(s.Index, s.Time, symbol, name, value)
	}
}

func (v SymbolView) at() (*step.Step, int) { return step.Ref(v).Step(), step.Ref(v).Symbol() }

// Symbol is the symbol of this view.
func (v SymbolView) Symbol() Symbol {
	s, i := v.at()
	return s.Symbols[i]
}

// Candle is the newest candle. Check Closed in a run of several symbols: a symbol
// without a candle at this step still shows its last one.
func (v SymbolView) Candle() Candle {
	s, i := v.at()
	return s.Candles[i]
}

// Closed reports whether a candle closed at this step.
func (v SymbolView) Closed() bool {
	s, i := v.at()
	return s.Closed[i]
}

// Position is what is held.
func (v SymbolView) Position() Position {
	s, i := v.at()
	return Position(s.Positions[i])
}

// Flat reports whether nothing is held.
func (v SymbolView) Flat() bool { return v.quantity() == 0 }

// Long reports whether a positive quantity is held.
func (v SymbolView) Long() bool { return v.quantity() > 0 }

// Short reports whether a negative quantity is held.
func (v SymbolView) Short() bool { return v.quantity() < 0 }

func (v SymbolView) quantity() float64 {
	s, i := v.at()
	return s.Positions[i].Quantity
}

// Publish adds a point to a named series of the symbol, which charts show with its
// candles. Two symbols may have series of the same name, and one [Plot] draws them.
func (v SymbolView) Publish(name string, value float64) { View{v}.publish(v.Symbol(), name, value) }

// OpenOrders are the open orders of the symbol in order of acceptance, bracket children
// included. The slice is a copy: ask only when you need it.
func (v SymbolView) OpenOrders() []Order {
	s, i := v.at()
	if s.OpenOrders == nil {
		return nil
	}
	all := s.OpenOrders()
	if len(s.Symbols) == 1 {
		return all
	}
	kept := make([]Order, 0, len(all))
	for _, o := range all {
		if o.Symbol == s.Symbols[i] {
			kept = append(kept, o)
		}
	}
	return kept
}
