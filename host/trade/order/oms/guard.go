package oms

import "github.com/assay-run/assay/plugin-sdk/market"

// Stance implements sim.GuardBooks.
func (it *intake) Stance(sym int) market.Stance {
	symbol := it.cfg.Symbols[sym]
	switch {
	case it.ledger.Flat(symbol):
		return market.StanceFlat
	case it.ledger.Quantity(symbol).IsNeg():
		return market.StanceShort
	}
	return market.StanceLong
}

// Entries implements sim.GuardBooks.
func (it *intake) Entries(sym int) int {
	if it.Stance(sym) == market.StanceFlat {
		return 0
	}
	return it.ledger.Entries(it.cfg.Symbols[sym])
}

// Working implements sim.GuardBooks. An entry that has been asked to end counts until it has: it may still
// fill.
func (it *intake) Working(sym int) int {
	working := 0
	for _, p := range it.manager.live {
		if p.sym == sym && !p.done && p.Side == market.Buy && !p.ReduceOnly && p.group == nil {
			working++
		}
	}
	return working
}
