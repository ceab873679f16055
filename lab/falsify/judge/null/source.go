package null

import (
	"cmp"
	"slices"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Symbol is what one symbol has earned, open positions included.
type Symbol struct {
	Symbol market.Symbol
	PnL    decimal.Decimal
	// Share of the profit of all; nil when there is none.
	Share *float64
}

// BySymbol divides the profit of a run by symbol, in the order of its candles.
func BySymbol(r *Run) ([]Symbol, error) {
	out := make([]Symbol, len(r.Candles))
	total := decimal.Decimal{}
	for i, s := range r.Candles {
		var parts []decimal.Decimal
		for k := range r.Results.Trades {
			if t := &r.Results.Trades[k]; t.Symbol == s.Symbol {
				parts = append(parts, t.PnL)
			}
		}
		for k := range r.Results.Positions {
			if p := &r.Results.Positions[k]; p.Symbol == s.Symbol {
				parts = append(parts, p.UnrealizedPnL, p.RealizedPnL, p.Fees.Neg())
			}
		}
		pnl, err := sum(parts...)
		if err != nil {
			return nil, err
		}
		out[i] = Symbol{Symbol: s.Symbol, PnL: pnl}
		if total, err = total.Add(pnl); err != nil {
			return nil, err
		}
	}
	for i := range out {
		if total.IsPos() {
			share := float(out[i].PnL) / float(total)
			out[i].Share = &share
		}
	}
	return out, nil
}

// outlierShare of the trades, the best, are what Outliers leaves out: one in so many. It
// is policy.
const outlierShare = 20

// Outliers is a run without its best trades.
type Outliers struct {
	Removed int
	// Net is the return without them, a fraction of the initial cash.
	Net float64
}

// WithoutBest leaves the best 5 % of the closed trades out, rounded down but at least one,
// and compounds what the others have earned in proportion to the equity before each, as
// ShuffleTrades does: in money, what a grown account has won with one trade is more than
// the small one that it would have been. What is still open counts as a trade that has not
// ended and is never left out. The reason is NoTrades.
func WithoutBest(r *Run) (Outliers, stat.Reason, error) {
	if len(r.Input.Trades) == 0 {
		return Outliers{}, stat.NoTrades, nil
	}
	g, err := newGrid(r)
	if err != nil {
		return Outliers{}, "", err
	}
	factors := g.factors()
	slices.SortFunc(factors, func(a, b float64) int { return cmp.Compare(b, a) })
	out := Outliers{Removed: max(len(factors)/outlierShare, 1)}
	left, err := g.open()
	if err != nil {
		return Outliers{}, "", err
	}
	for _, f := range factors[out.Removed:] {
		left *= f
	}
	out.Net = left - 1
	return out, "", nil
}

// factors are what each closed trade has multiplied the equity before it with, at least 0.
func (g *grid) factors() []float64 {
	out := make([]float64, len(g.run.Input.Trades))
	for i := range out {
		t := &g.run.Input.Trades[i]
		out[i] = max(1+float(t.PnL)/g.before(t.EntryTime), 0)
	}
	return out
}

// open is what the positions that are left have multiplied the equity with that would be
// there without them, at least 0.
func (g *grid) open() (float64, error) {
	var parts []decimal.Decimal
	for i := range g.run.Results.Positions {
		p := &g.run.Results.Positions[i]
		parts = append(parts, p.UnrealizedPnL, p.RealizedPnL, p.Fees.Neg())
	}
	pnl, err := sum(parts...)
	if err != nil || pnl.IsZero() {
		return 1, err
	}
	final := g.curve.Equity[len(g.curve.Equity)-1]
	before := final - float(pnl)
	if before <= 0 {
		return 1, nil // they are all there is
	}
	return max(final/before, 0), nil
}

func sum(parts ...decimal.Decimal) (total decimal.Decimal, err error) {
	for _, p := range parts {
		if total, err = total.Add(p); err != nil {
			return total, err
		}
	}
	return total, nil
}
