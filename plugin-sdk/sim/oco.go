package sim

import "github.com/assay-run/assay/plugin-sdk/market"

// ocoGroup is orders of one symbol of which the first fill cancels the others, in the order of acceptance.
type ocoGroup struct{ orders []*order }

const notInOCO = "an OCO is of new orders to buy and to sell only"

// GroupOCO is how many intents, from the first on, are to be taken together: the members of an OCO, which
// are numbered from 1 and follow each other, else 1. It finds their symbol by check, and why one of them is
// no intent.
func GroupOCO(list []market.Intent, check func(*market.Intent) (int, string)) (n, sym int, fault string) {
	sym, fault = check(&list[0])
	switch {
	case fault != "" || list[0].OCO == 0:
		return 1, sym, fault
	case list[0].Action != market.Submit || list[0].Size.Kind == market.SizeTargetFraction:
		return 1, sym, notInOCO
	case list[0].OCO != 1:
		return 1, sym, "a member of an OCO does not follow the one before it"
	}
	for n < len(list) && list[n].OCO == n+1 && fault == "" {
		var other int
		other, fault = check(&list[n])
		switch {
		case fault != "":
		case list[n].Action != market.Submit || list[n].Size.Kind == market.SizeTargetFraction:
			fault = notInOCO
		case other != sym:
			fault = "the orders of an OCO are of different symbols"
		}
		n++
	}
	return n, sym, fault
}

// from counts the members from an order on; an order by itself counts 1.
func (g *ocoGroup) from(o *order) int {
	if g == nil {
		return 1
	}
	n := len(g.orders)
	for _, x := range g.orders {
		if x == o {
			break
		}
		n--
	}
	return n
}

// isRefused reports whether there was no room for the group.
func (g *ocoGroup) isRefused() bool {
	return g != nil && g.orders[0].Status == market.StatusRejected &&
		g.orders[0].Reason == market.ReasonTooManyOpenOrders
}

// cancelOthers ends the other orders of a group in the moment of a fill.
func (g *ocoGroup) cancelOthers(v *venue, o *order, at market.Time) {
	if g == nil {
		return
	}
	for _, x := range g.orders {
		if x != o && !x.done {
			v.finish(x, market.StatusCanceled, market.ReasonOCO, at)
		}
	}
}

// isAmbiguous reports whether the candle reaches another order of the group where it reaches this one: at
// its open, or inside.
func (g *ocoGroup) isAmbiguous(e *executor, o *order, x execution) bool {
	if g == nil {
		return false
	}
	c := &e.symbols[o.sym].candle
	for _, other := range g.orders {
		if other == o || other.done || !other.active {
			continue
		}
		if x.inside && e.reachedInside(other, c) || !x.inside && reachedAtOpen(e, other, c) {
			return true
		}
	}
	return false
}

func reachedAtOpen(e *executor, o *order, c *market.Candle) bool {
	switch {
	case o.Type == market.Market:
		return true
	case o.isStop():
		return triggers(o.Side, c.Open, o.stopF)
	}
	return reached(o.Side, c.Open, e.touchLevel(o))
}
