package sim

import "github.com/assay-run/assay/plugin-sdk/market"

// FaultGuard is why an intent with a guard out of bounds is none.
const FaultGuard = "a guard has an unknown position or a limit below 0"

// GuardBooks is what guards ask of an account, of symbols by their numbers.
type GuardBooks interface {
	// Stance is the position held now.
	Stance(sym int) market.Stance
	// Entries counts the orders that have built up the position.
	Entries(sym int) int
	// Working counts the orders, open or on their way, that may open a position or add to it.
	Working(sym int) int
}

// GuardsHold reports whether the guards of an intent, or of all members of an OCO, hold (R16). Backtest,
// paper and live share it.
func GuardsHold(list []market.Intent, sym, symbols int, shorts bool, b GuardBooks) bool {
	for i := range list {
		if g := list[i].Guard; g != nil && !guardHolds(g, &list[i], sym, symbols, shorts, b) {
			return false
		}
	}
	return true
}

func guardHolds(g *market.Guard, in *market.Intent, sym, symbols int, shorts bool, b GuardBooks) bool {
	if g.Position != 0 && g.Position&b.Stance(sym) == 0 {
		return false
	}
	entry := in.MayOpen(shorts) && in.Size.Kind != market.SizeTargetFraction
	if entry && !g.EntryWorking && b.Working(sym) > 0 {
		return false
	}
	if g.MaxEntries > 0 && b.Entries(sym)+b.Working(sym) >= g.MaxEntries {
		return false
	}
	if g.MaxOpen == 0 {
		return true
	}
	open := 0
	for other := range symbols {
		if other != sym && (b.Stance(other) != market.StanceFlat || b.Working(other) > 0) {
			open++
		}
	}
	return open < g.MaxOpen
}

// dropGuarded counts intents whose guards do not hold.
func (e *Engine) dropGuarded(list []market.Intent) {
	e.venue.stats.Guarded += int64(len(list))
	for i := range list {
		if e.venue.rec != nil {
			e.venue.rec.Intent(e.venue.step, &list[i], market.ReasonGuarded)
		}
	}
}

// holdings are the GuardBooks of the simulator.
type holdings struct{ of *intake }

// Stance implements GuardBooks.
func (h holdings) Stance(sym int) market.Stance {
	switch q := h.of.ledger.books[sym].quantityF; {
	case q > 0:
		return market.StanceLong
	case q < 0:
		return market.StanceShort
	}
	return market.StanceFlat
}

// Entries implements GuardBooks.
func (h holdings) Entries(sym int) int {
	if h.Stance(sym) == market.StanceFlat {
		return 0
	}
	return h.of.symbols[sym].trade.orders.entries
}

// Working implements GuardBooks.
func (h holdings) Working(sym int) int {
	working := 0
	for _, o := range h.of.live {
		if o.sym == sym && o.mayOpen(h.of.opt.AllowShort) {
			working++
		}
	}
	for i := range h.of.transit {
		if m := &h.of.transit[i]; m.sym == sym && m.action == market.Submit &&
			m.order.mayOpen(h.of.opt.AllowShort) {
			working++
		}
	}
	return working
}

// mayOpen reports whether an order may open a position or add to one.
func (o *order) mayOpen(shorts bool) bool {
	return !o.done && !o.ReduceOnly && !o.isChild() && (shorts || o.Side == market.Buy)
}
