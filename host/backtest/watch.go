package backtest

import (
	"sync"

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
	return x.rec.Look(x.engine, &x.said, !x.ended.IsZero())
}

// OrdersAt implements runner.Watched.
func (x *Execution) OrdersAt(indexes []int) []market.Order {
	x.gate.Lock()
	defer x.gate.Unlock()
	return x.rec.OrdersAt(indexes)
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
