package oms

import (
	"time"

	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// submitTarget makes the order of a target, as a backtest does (R8.4): what the position lacks of it. The
// code is why there is none: the market does not take as little.
func (it *intake) submitTarget(sym int, in market.Intent, at time.Time) string {
	s, symbol := &it.manager.sym[sym], it.cfg.Symbols[sym]
	held := dec{}
	if !it.ledger.Flat(symbol) {
		held = it.ledger.Quantity(symbol)
	}
	goal, code := sim.TargetSize(&in, it.manager.Equity(), s.last, s.step(in.Type))
	if code == "" && goal.IsNeg() {
		code = market.ReasonShortNotAllowed
	}
	less, more, all, err := sim.TargetMove(goal, held)
	if err != nil {
		return order.CodeInvalidAmount
	}
	small, asked := "", in.Size.Value
	in.Size = market.Size{Kind: market.SizeQuantity, Value: sim.Float(more)}
	switch {
	case less.IsPos():
		in.Side, in.ReduceOnly, in.StopLoss, in.TakeProfit, in.Targets = market.Sell, true, nil, nil, nil
		in.Size.Value = sim.Float(less)
		if small = s.tooSmall(&in, less); all {
			in.Size = market.Size{Kind: market.SizePosition}
		}
	case more.IsPos():
		small = s.tooSmall(&in, more)
	case asked != 0 && goal.IsZero():
		small = order.CodeBelowMinimum
	}
	if code == "" {
		it.cancelTargets(sym, at)
		if small != "" || less.IsZero() && more.IsZero() {
			return small
		}
	}
	if goal.IsNeg() {
		in.Side = market.Sell
	}
	p := it.newOrder(sym, keepChildren(in))
	p.target, p.before = true, it.ledger.Quantity(symbol)
	it.settleOrder(p, it.draftOrder(p, order.Plus(less, more), in.Side == market.Buy, false, string(code)))
	return ""
}

// cancelTargets takes back the order of the target before.
func (it *intake) cancelTargets(sym int, at time.Time) {
	for _, p := range it.manager.workingOrders() {
		if p.sym == sym && p.target && !p.done && p.ending == "" {
			it.cancelForStrategy(p, at)
		}
	}
}

// aim reports whether the order of a target may be placed now: once the order of the target before has
// ended, and a purchase once the sales at the market of the targets of its step have. What has filled
// meanwhile is taken off.
func (pl *placer) aim(p *logicalOrder) bool {
	for _, o := range pl.manager.live {
		if o == p || o.done || !o.target {
			continue
		}
		sale := o.Side == market.Sell && o.Type == market.Market && o.CreatedAt == p.CreatedAt
		if o.sym == p.sym && o.ID < p.ID || p.Side == market.Buy && sale {
			return false
		}
	}
	if len(p.ids) > 0 || p.intent.Size.Kind != market.SizeQuantity {
		return true
	}
	now := pl.ledger.Quantity(p.Symbol)
	done := order.Minus(now, p.before)
	p.before = now
	if p.Side == market.Sell {
		done = done.Neg()
	}
	if !done.IsPos() {
		return true
	}
	p.asked = order.Minus(p.asked, done)
	p.Quantity = p.asked
	if !p.asked.IsPos() {
		p.endOrder(pl.manager, market.StatusCanceled, string(market.ReasonQuantityBelowStep))
	}
	return p.asked.IsPos()
}
