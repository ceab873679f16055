package play

import (
	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/result"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Books are the account of a run: the simulator's, or those of live orders.
type Books interface {
	InitialCash() decimal.Decimal
	CashExact() decimal.Decimal
	// Positions are the open ones, in request order.
	Positions() ([]market.Position, error)
	// FinalValue is cash plus every position at its last close.
	FinalValue() (decimal.Decimal, error)
}

// Look is what runner.Watched shows. It shares what is only appended to, so that its
// cost does not grow with the run. Settled leaves nothing out; else the newest point of
// equity is, because the end of the data may replace it.
func (r *Record) Look(b Books, s *Said, settled bool) runner.Look {
	positions, err := b.Positions()
	if err != nil {
		positions = nil // Picture reports it
	}
	return runner.Look{
		Orders: len(r.orders), Changes: r.changes[:len(r.changes):len(r.changes)],
		Fills: r.fills[:len(r.fills):len(r.fills)], Trades: r.trades[:len(r.trades):len(r.trades)],
		Positions: positions, Equity: r.Curve(settled), Annotations: s.Annotations(),
		Log: s.lines[:len(s.lines):len(s.lines)], LogTotal: s.total,
	}
}

// OrdersAt copies orders by their index.
func (r *Record) OrdersAt(indexes []int) []market.Order {
	out := make([]market.Order, len(indexes))
	for i, at := range indexes {
		out[i] = r.orders[at]
	}
	return out
}

// Curve is the equity so far, without the newest point unless it is settled.
func (r *Record) Curve(settled bool) result.EquityCurve {
	c := r.curve
	n := len(c.Time)
	if n > 0 && !settled {
		n--
	}
	return result.EquityCurve{
		Time: c.Time[:n:n], Equity: c.Equity[:n:n], Cash: c.Cash[:n:n],
		PositionValue: c.PositionValue[:n:n], Drawdown: c.Drawdown[:n:n], Exposure: c.Exposure[:n:n],
	}
}

// Picture copies what may still change and shares what is only appended to. The errors
// say what could not be valued; the rest stands.
func (r *Record) Picture(b Books, s *Said, settled bool) (*result.Results, metric.Input, []error) {
	c := r.Curve(settled)
	out := &result.Results{
		Orders: append([]market.Order{}, r.orders...), Fills: r.fills[:len(r.fills):len(r.fills)],
		Trades: r.trades[:len(r.trades):len(r.trades)], Equity: c,
		InitialCash: b.InitialCash().Trim(0).String(), DecisionHash: r.lines.Sum(),
		Log: append([]result.LogLine{}, s.lines...), Annotations: s.Annotations(), LogFile: s.file.file(),
	}
	var bad []error
	var err error
	if out.Positions, err = b.Positions(); err != nil {
		bad = append(bad, err)
	}
	value, err := b.FinalValue()
	if err != nil {
		bad = append(bad, err)
		value = b.CashExact()
	}
	out.FinalValue = value.Trim(0).String()
	totals := r.totals
	for i := range r.orders {
		totals.AddOrder(&r.orders[i])
	}
	totals.OpenTrades = len(out.Positions)
	return out, metric.Input{
		Trades: out.Trades, Totals: totals,
		Curves: []metric.Curve{{
			OpenTime: r.openTime[:len(c.Time)], CloseTime: c.Time, Equity: c.Equity, Exposure: c.Exposure,
			Closes: r.seenCloses(),
		}},
	}, bad
}
