package null

import (
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
	// Net is the net profit without them.
	Net decimal.Decimal
}

// WithoutBest takes the profit of the best 5 % of the closed trades, rounded down but at
// least one, out of the net profit. The reason is NoTrades.
func WithoutBest(r *Run) (Outliers, stat.Reason, error) {
	best := make([]decimal.Decimal, 0, len(r.Results.Trades))
	for i := range r.Results.Trades {
		best = append(best, r.Results.Trades[i].PnL)
	}
	if len(best) == 0 {
		return Outliers{}, stat.NoTrades, nil
	}
	slices.SortFunc(best, func(a, b decimal.Decimal) int { return b.Cmp(a) })
	out := Outliers{Removed: max(len(best)/outlierShare, 1)}
	lost, err := sum(best[:out.Removed]...)
	if err != nil {
		return Outliers{}, "", err
	}
	all, err := r.Net()
	if err != nil {
		return Outliers{}, "", err
	}
	out.Net, err = all.Sub(lost)
	return out, "", err
}

func sum(parts ...decimal.Decimal) (total decimal.Decimal, err error) {
	for _, p := range parts {
		if total, err = total.Add(p); err != nil {
			return total, err
		}
	}
	return total, nil
}
