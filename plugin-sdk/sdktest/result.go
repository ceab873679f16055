package sdktest

import (
	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/internal/drive"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// Result is what a run has produced.
type Result struct {
	Orders []market.Order // last state of each, by id
	Fills  []market.Fill
	Trades []market.Trade
	// Equity has a point for the close of every step of the window.
	Equity    []market.EquityPoint
	Positions []market.Position // still open at the end
	// FinalValue is cash plus positions at the last close.
	InitialCash, FinalValue decimal.Decimal
	// Digest is the hash of the ledger: equal digests, equal runs.
	Digest   [32]byte
	Steps    int64
	Stats    sim.Stats
	Bankrupt bool
	// Refused are the codes of cancels and replaces that named no open order.
	Refused     []market.Reason
	Log         []wire.LogLine
	Annotations []wire.Series
}

// recorder implements sim.Recorder.
type recorder struct {
	r    Result
	peak float64 // highest equity before the newest point
}

func newRecorder() *recorder { return &recorder{} }

// Intent implements sim.Recorder.
func (c *recorder) Intent(_ int64, _ *market.Intent, reason market.Reason) {
	if reason != "" {
		c.r.Refused = append(c.r.Refused, reason)
	}
}

// Order implements sim.Recorder. Ids count from 1 without gaps.
func (c *recorder) Order(_ int64, o *market.Order) {
	for int(o.ID) > len(c.r.Orders) {
		c.r.Orders = append(c.r.Orders, market.Order{})
	}
	c.r.Orders[o.ID-1] = *o
}

// Fill implements sim.Recorder.
func (c *recorder) Fill(_ int64, f *market.Fill) { c.r.Fills = append(c.r.Fills, *f) }

// Trade implements sim.Recorder.
func (c *recorder) Trade(_ int64, t *market.Trade) {
	one := *t
	one.OrderIDs = append([]market.OrderID(nil), t.OrderIDs...)
	c.r.Trades = append(c.r.Trades, one)
}

// Equity implements sim.Recorder.
func (c *recorder) Equity(_ int64, m *sim.Mark) {
	p := market.EquityPoint{Time: m.Time, Equity: m.Equity, Cash: m.Cash, PositionValue: m.PositionValue}
	n := len(c.r.Equity)
	again := n > 0 && c.r.Equity[n-1].Time == m.Time // the close of the last step, once more after close_at_end
	if n > 0 && !again {
		c.peak = max(c.peak, c.r.Equity[n-1].Equity)
	}
	if peak := max(c.peak, m.Equity); peak > 0 {
		p.Drawdown = (peak - m.Equity) / peak
	}
	if m.Equity > 0 {
		p.Exposure = m.Notional / m.Equity
	}
	if again {
		c.r.Equity[n-1] = p
		return
	}
	c.r.Equity = append(c.r.Equity, p)
}

func (c *recorder) result(e *sim.Engine, notes *drive.Collector) (*Result, error) {
	r := &c.r
	r.InitialCash, r.Digest, r.Stats = e.InitialCash(), e.Digest(), e.Stats()
	r.Steps, r.Bankrupt = e.Step()+1, e.Bankrupt()
	r.Log, _ = notes.TakeLines()
	r.Annotations, _ = notes.TakeSeries()
	var err error
	if r.FinalValue, err = e.FinalValue(); err != nil {
		return nil, err
	}
	r.Positions, err = e.Positions()
	return r, err
}
