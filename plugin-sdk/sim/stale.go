package sim

import (
	"slices"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// Reduces reports whether an order can only make a position smaller: no sale of what is not held opens one
// without allow_short.
func (e *Engine) Reduces(o *market.Order) bool { return shrinks(&e.venue, o) }

func shrinks(v *venue, o *market.Order) bool {
	if o.ReduceOnly || o.Side == market.Sell && !v.opt.AllowShort {
		return true
	}
	sym := slices.Index(v.cfg.Symbols, o.Symbol)
	if sym < 0 {
		return false
	}
	held := v.ledger.books[sym].quantity
	against := held.IsPos() && o.Side == market.Sell || held.IsNeg() && o.Side == market.Buy
	return against && o.Quantity.IsPos() && o.Quantity.Cmp(held.Abs()) <= 0
}

// StaleInputs is [Config.Stale] where all rows of the inputs, which ascend, are there beforehand; nil where
// no input has an age.
func StaleInputs(ages []market.InputAge, rows [][]market.InputRow) func(market.Time) bool {
	if !slices.ContainsFunc(ages, func(a market.InputAge) bool { return a.Max > 0 }) {
		return nil
	}
	readers := make([]*market.InputReader, len(ages))
	for i := range ages {
		readers[i] = market.NewInputReader(nil)
		if i < len(rows) {
			readers[i] = market.NewInputReader(rows[i])
		}
	}
	return func(t market.Time) (stale bool) {
		for i := range ages {
			ages[i].See(readers[i].Until(t))
			stale = stale || ages[i].Stale(t)
		}
		return stale
	}
}
