package oms

import (
	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// moveLegs gives the legs of a position other prices, on ticks of the market; the orders at the venue follow
// as those of a trailing stop do. The code is why it could not: then none of them moves. A price that the
// venue would refuse is one: the exits there are not given up for others that cannot be placed.
func (it *intake) moveLegs(sym int, in *market.Intent) string {
	if it.manager.barred {
		return admission.CodeEndOfRun
	}
	if reason := sim.RefuseMove(in, it.Stance(sym), sim.Float(it.manager.sym[sym].last)); reason != "" {
		return string(reason)
	}
	var moved []*logicalOrder
	var changes []market.Intent
	stops, targets := in.StopLoss == nil, in.TakeProfit == nil
	for _, p := range it.manager.workingOrders() {
		change, meant := sim.MoveOf(in, p.Role)
		if !meant || p.sym != sym || p.group == nil || p.done || p.ending != "" {
			continue
		}
		stops, targets = stops || p.Role == market.RoleStopLoss, targets || p.Role == market.RoleTakeProfit
		if p.trail.on() {
			return string(market.ReasonInvalidType)
		}
		next := *p
		next.applyChange(it.manager, &change)
		if next.StopPrice.Cmp(p.StopPrice) == 0 && next.LimitPrice.Cmp(p.LimitPrice) == 0 {
			continue
		}
		if code := it.refuseLeg(&next); code != "" {
			return code
		}
		moved, changes = append(moved, p), append(changes, change)
	}
	if !stops || !targets {
		return string(market.ReasonNoLeg)
	}
	for i, p := range moved {
		p.applyChange(it.manager, &changes[i])
		p.group.renew = true
		it.manager.queueUpdate(p)
	}
	return ""
}

// refuseLeg is the code of why the venue would not take a leg for what its bracket holds.
func (it *intake) refuseLeg(p *logicalOrder) string {
	if !p.StopPrice.IsPos() && !p.LimitPrice.IsPos() {
		return string(market.ReasonInvalidPrice)
	}
	s := &it.manager.sym[p.sym]
	spec := it.manager.placer.draftSpec(p)
	spec.Quantity = s.rules.RoundQuantity(p.Type, p.group.held)
	return s.rules.Check(spec, s.last)
}
