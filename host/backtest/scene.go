package backtest

import (
	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Scene is where a run stands: what is needed to understand how it failed.
type Scene struct {
	// Step is the newest step in the host's books, counted from 0 with the warm-up; -1
	// before the first. In co-simulation the plugin may have been ahead of it.
	Step int64
	// Window is the first step of the window, Warmup the first at which orders count.
	Window, Warmup int64
	// Over says that every step was decided: what failed is the end.
	Over bool
	// Time is the close time of the step, 0 before the first.
	Time market.Time
	// Cash and Equity are in quote currency.
	Cash, Equity decimal.Decimal
	Positions    []market.Position
	OpenOrders   []market.Order
	// Candles are the newest ones, oldest first; CandlesTotal counts all up to Step.
	Candles      []SceneCandle
	CandlesTotal int64
	// Lines are the newest decision lines, oldest first; LinesTotal counts all.
	Lines      [][]byte
	LinesTotal int64
}

// SceneCandle is a candle that closed at a step.
type SceneCandle struct {
	Step   int64
	Symbol market.Symbol
	market.Candle
}

// Scene looks at a run that has ended or failed, with at most so many events of each
// kind. Call it before Close. It reads the candles up to the step again, so that a
// run which does not fail pays nothing.
func (x *Execution) Scene(events int) (Scene, error) {
	x.gate.Lock()
	defer x.gate.Unlock()
	s := Scene{
		Step: x.engine.Step(), Window: x.layout.window, Warmup: x.layout.warmup, Over: x.over, Time: x.lastCandle(),
		Cash: x.engine.CashExact(), OpenOrders: x.engine.OpenOrders(),
	}
	var err error
	if s.Equity, err = x.engine.FinalValue(); err != nil {
		s.Equity = s.Cash // the ledger has overflowed, which may be why it failed
	}
	if s.Positions, err = x.engine.Positions(); err != nil {
		s.Positions = nil
	}
	if s.Lines, s.LinesTotal, err = x.rec.Lines().Tail(events); err != nil {
		return s, err
	}
	return s, x.newestCandles(&s, events)
}

// newestCandles are those of the last steps up to the scene's.
func (x *Execution) newestCandles(s *Scene, n int) error {
	x.data.mu.RLock()
	defer x.data.mu.RUnlock()
	if x.data.closed {
		return nil
	}
	series := make([]*market.Series, len(x.sources))
	for i, src := range x.sources {
		series[i] = src.run()
	}
	f := sim.NewSeriesFeed(series)
	b := sim.Batch{Candles: make([]market.Candle, len(series)), Closed: make([]bool, len(series))}
	for step := int64(0); step <= s.Step; step++ {
		if more, err := f.Next(&b); err != nil || !more {
			return err
		}
		for i := range series {
			if !b.Closed[i] {
				continue
			}
			s.CandlesTotal++
			if len(s.Candles) >= 2*n { // now and then, not for every candle
				s.Candles = append(s.Candles[:0], s.Candles[n:]...)
			}
			s.Candles = append(s.Candles, SceneCandle{step, x.sources[i].symbol, b.Candles[i]})
		}
	}
	s.Candles = s.Candles[max(0, len(s.Candles)-n):]
	return nil
}
