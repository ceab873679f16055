package backtest

import (
	"sync"

	"github.com/assay-run/assay/host/result"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// dataGuard keeps mapped candles from being released while somebody reads them.
type dataGuard struct {
	mu     sync.RWMutex
	closed bool
}

// close waits for the readers and lets nobody in any more.
func (g *dataGuard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// Look implements runner.Watched. It shares what is only appended to, so that its
// cost does not grow with the run.
func (x *Execution) Look() runner.Look {
	x.gate.Lock()
	defer x.gate.Unlock()
	rec := x.rec
	positions, err := x.engine.Positions()
	if err != nil {
		positions = nil // Results reports it
	}
	return runner.Look{
		Orders: len(rec.orders), Changes: rec.changes[:len(rec.changes):len(rec.changes)],
		Fills: rec.fills[:len(rec.fills):len(rec.fills)], Trades: rec.trades[:len(rec.trades):len(rec.trades)],
		Positions: positions, Equity: x.settledCurve(), Annotations: x.said.annotations(),
		Log: x.said.lines[:len(x.said.lines):len(x.said.lines)], LogTotal: x.said.total,
	}
}

// settledCurve leaves out the newest point while the run is on: closing all
// positions at the end of the data replaces it.
func (x *Execution) settledCurve() result.EquityCurve {
	c := x.rec.curve
	n := len(c.Time)
	if n > 0 && x.ended.IsZero() {
		n--
	}
	return result.EquityCurve{
		Time: c.Time[:n:n], Equity: c.Equity[:n:n], Cash: c.Cash[:n:n],
		PositionValue: c.PositionValue[:n:n], Drawdown: c.Drawdown[:n:n], Exposure: c.Exposure[:n:n],
	}
}

// OrdersAt implements runner.Watched.
func (x *Execution) OrdersAt(indexes []int) []market.Order {
	x.gate.Lock()
	defer x.gate.Unlock()
	out := make([]market.Order, len(indexes))
	for i, at := range indexes {
		out[i] = x.rec.orders[at]
	}
	return out
}

// Candles implements runner.Watched.
func (x *Execution) Candles(symbol market.Symbol, use func(*market.Series)) bool {
	x.data.mu.RLock()
	defer x.data.mu.RUnlock()
	if x.data.closed {
		return false
	}
	for _, s := range x.sources {
		if s.symbol == symbol {
			use(s.series.Slice(s.from, s.to))
			return true
		}
	}
	return false
}
