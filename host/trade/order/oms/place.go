package oms

import (
	"slices"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// advance does what has become possible: orders that waited are proposed, replaced ones placed anew,
// brackets renewed, rests settled.
func (d *Manager) advance(at time.Time) {
	for _, g := range d.protector.groups {
		if g.renewing {
			g.confirmCancelled(d)
		}
	}
	for _, p := range d.workingOrders() {
		if !p.follows.IsZero() && !at.Before(p.follows) {
			p.followTrail(d, at)
		}
		if p.change != nil && !p.waiting {
			d.finishReplace(p)
		}
		if p.waiting && p.group == nil && !d.placer.awaitsCancel(p) && (!p.target || d.placer.aim(p)) {
			d.placer.placeOrder(p, at)
		}
	}
	for i, s := range d.cfg.Symbols {
		if d.book.Exposure(s).Sell.IsZero() {
			if t := d.ledger.Settle(s, d.sym[i].rules, d.sym[i].last); t != nil {
				d.trades = append(d.trades, *t)
			}
		}
	}
	d.protector.groups = slices.DeleteFunc(d.protector.groups, func(g *bracket) bool {
		return len(g.legs()) == 0
	})
	for _, g := range d.protector.groups {
		g.updateExits(d, at)
	}
	d.protector.protectAll(at)
}

// awaitsCancel reports whether an order of the strategy's waits for an older one that it has taken back: what
// that one sells or spends is free once its cancel is confirmed, and at once in a backtest.
func (pl *placer) awaitsCancel(p *logicalOrder) bool {
	return !p.guards && !p.manual && slices.ContainsFunc(pl.manager.live, func(o *logicalOrder) bool {
		return o.ID < p.ID && !o.done && o.ending == "strategy" && o.Side == p.Side &&
			(p.Side == market.Buy || o.sym == p.sym)
	})
}

// finishReplace looks whether the cancel of a replaced order is confirmed, and what it left.
func (d *Manager) finishReplace(p *logicalOrder) {
	s, _ := d.book.Get(p.currentID())
	if !s.State.Terminal() || !s.Settled {
		return
	}
	in := p.change
	p.change = nil
	if s.State != order.Canceled && !endedUnsent(s) {
		p.syncState(d) // it ended otherwise: there is nothing to replace
		return
	}
	p.applyChange(d, in)
	if p.Quantity.IsPos() && p.FilledQuantity.Cmp(p.Quantity) >= 0 {
		p.endOrder(d, market.StatusFilled, "")
		return
	}
	p.waiting = true
}

// placeOrder proposes an order, once nothing holds back what it needs.
func (pl *placer) placeOrder(p *logicalOrder, at time.Time) {
	shut := pl.admit(admission.KindOf(true, p.guards || p.manual))
	if shut == "" && p.Side == market.Sell && (pl.makeRoom(p, at) || pl.awaitsFree(p, at)) {
		return
	}
	spec, reason := pl.sizeOrder(p)
	if reason != "" && shut != "" {
		reason = shut // the exits hold what it is to sell, and keep it
	}
	if reason == "" {
		reason = admission.Judge(pl.symbolConditions(p.sym),
			admission.KindOf(p.Side == market.Sell, false)).Code
	}
	if reason == "" {
		reason = pl.manager.sym[p.sym].rules.Check(spec, pl.manager.sym[p.sym].last)
	}
	if reason != "" {
		status := market.StatusRejected
		if p.Clamped && reason == order.CodeBelowMinimum {
			status = market.StatusCanceled // the cash leaves nothing of it
		}
		p.endOrder(pl.manager, status, reason)
		return
	}
	p.waiting = false
	pl.handOut(Proposal{Specs: []order.Spec{spec}, Shrinks: p.Side == market.Sell, Protects: p.guards ||
		p.manual}, p)
}

// handOut hands the specs out and ties them to the orders they are of.
func (pl *placer) handOut(proposal Proposal, orders ...*logicalOrder) {
	for i, s := range proposal.Specs {
		pl.manager.byID[s.ClientOrderID] = orders[i]
		orders[i].ids = append(orders[i].ids, s.ClientOrderID)
	}
	pl.proposed = append(pl.proposed, proposal.Specs...)
	pl.manager.out.Proposals = append(pl.manager.out.Proposals, proposal)
}

// nextSpec returns a spec with the next number.
func (pl *placer) nextSpec(p *logicalOrder) order.Spec {
	pl.seq++
	s := pl.draftSpec(p)
	s.Seq, s.ClientOrderID = pl.seq, order.ClientID(pl.cfg.RunID, pl.seq)
	return s
}

// draftSpec returns a spec without a number, on the ticks of today.
func (pl *placer) draftSpec(p *logicalOrder) order.Spec {
	rules := pl.manager.sym[p.sym].rules
	s := order.Spec{
		Symbol: p.Symbol, Side: p.Side, Type: p.Type, LimitPrice: rules.RoundPrice(p.Side, p.LimitPrice),
		StopPrice: rules.RoundPrice(p.Side, p.StopPrice),
		Reference: pl.manager.sym[p.sym].last, Exit: p.Side == market.Sell,
		Manual: pl.manager.flatten || p.manual, Protects: p.group != nil || p.guards,
		PostOnly: p.intent.PostOnly, Public: p.ID, Step: pl.manager.step,
	}
	if p.Type == market.TrailingStop {
		s.Type = market.Stop
	}
	// the venue would have the new order wait for its stop again, or refuse one that the price has passed
	if p.reached {
		s.Type, s.StopPrice = market.Limit, dec{}
	}
	if p.TimeInForce == market.IOC {
		s.TimeInForce = market.IOC // gtd is counted here: the venue knows no candles
	}
	return s
}

// sizeOrder sizes an order for the venue.
func (pl *placer) sizeOrder(p *logicalOrder) (order.Spec, string) {
	s, rules := pl.nextSpec(p), pl.manager.sym[p.sym].rules
	rest := order.Minus(p.Quantity, p.FilledQuantity)
	switch {
	case p.Side == market.Sell:
		s.Quantity = rules.ExitQuantity(s.Type, pl.toSell(p), pl.availableBase(p.sym))
		p.Quantity = order.Plus(s.Quantity, p.FilledQuantity)
	case p.intent.Size.Kind == market.SizeQuantity:
		if p.clamps { // each time anew: the cash may pay for more of it now
			rest = order.Minus(p.asked, p.FilledQuantity)
			p.Quantity, p.Clamped = p.asked, false
		}
		s.Quantity = rules.RoundQuantity(s.Type, rest)
		most := rules.Affordable(s.Type, pl.freeCash(), s.Price())
		switch {
		case most.Cmp(s.Quantity) >= 0:
		case p.clamps:
			s = pl.clamp(p, s, most)
		default:
			return s, "insufficient_cash" // the venue would say no, and rejects count
		}
	default:
		budget := pl.cashBudget(p)
		if !budget.IsPos() {
			return s, "insufficient_cash"
		}
		s = pl.sizeBuy(p, s, budget)
		if headroom := pl.limitHeadroom(p.Symbol); headroom.Cmp(budget) < 0 {
			// A size that the market does not take is not cut down: the limit itself refuses the order.
			if less := pl.sizeBuy(p, s, headroom); rules.Check(less, pl.manager.sym[p.sym].last) == "" {
				s, s.Wanted = less, budget
			}
		}
		if p.Type != market.Market {
			p.Quantity = s.Quantity
		}
	}
	switch {
	case s.Quantity.IsPos() || s.QuoteAmount.IsPos():
	case p.Side == market.Sell && !pl.ledger.Quantity(p.Symbol).IsPos():
		return s, "reduce_only_no_position"
	default:
		return s, order.CodeBelowMinimum
	}
	return s, ""
}

// clamp cuts a buy that is sized by equity to the most that the free cash pays for. One at the market is
// for all of that cash, where the venue takes amounts: the price may be another one when it arrives.
func (pl *placer) clamp(p *logicalOrder, s order.Spec, most dec) order.Spec {
	p.Clamped = true
	s.Quantity, p.Quantity = most, order.Plus(most, p.FilledQuantity)
	if p.Type != market.Market || !pl.manager.intake.takesAmounts(p.sym) {
		return s
	}
	s = pl.sizeBuy(p, s, pl.freeCash())
	s.Quantity, p.Quantity = dec{}, dec{} // known when it has filled
	return s
}

// sizeBuy sizes a buy by an amount of quote.
func (pl *placer) sizeBuy(p *logicalOrder, s order.Spec, budget dec) order.Spec {
	rules := pl.manager.sym[p.sym].rules
	if p.Type == market.Market {
		s.QuoteAmount = rules.Spendable(budget)
	} else {
		s.Quantity = rules.Affordable(s.Type, budget, s.Price())
	}
	return s
}

// limitHeadroom returns what the limits leave for one more buy of a symbol.
func (pl *placer) limitHeadroom(symbol market.Symbol) dec {
	if pl.cfg.Headroom == nil {
		return pl.freeCash()
	}
	of, all := dec{}, dec{}
	for _, s := range pl.proposed {
		if s.Side != market.Buy {
			continue
		}
		v := s.QuoteAmount.Max(order.Times(s.Quantity, s.Price()))
		if all = order.Plus(all, v); s.Symbol == symbol {
			of = order.Plus(of, v)
		}
	}
	return pl.cfg.Headroom(symbol, of, all)
}

// cashBudget of a buy that is sized by cash: never more than the cash that no working order may spend.
func (pl *placer) cashBudget(p *logicalOrder) dec {
	free := pl.freeCash()
	v, _ := sim.Decimal(p.intent.Size.Value)
	if p.intent.Size.Kind == market.SizeCashFraction {
		return order.Times(free, v)
	}
	return v.Min(free)
}

// freeCash returns the cash that no working order may spend.
func (pl *placer) freeCash() dec {
	free := pl.ledger.Cash()
	for _, s := range pl.cfg.Symbols {
		free = order.Minus(free, pl.book.Exposure(s).BuyValue)
	}
	for _, s := range pl.proposed {
		if s.Side == market.Buy {
			free = order.Minus(free, s.QuoteAmount.Max(order.Times(s.Quantity, s.Price())))
		}
	}
	return free
}

// availableBase returns the base that no order of ours holds: at most what the run holds, and what is free
// at the venue.
func (pl *placer) availableBase(sym int) dec {
	held, out := pl.unsoldBase(sym)
	if pl.manager.sym[sym].known {
		held = held.Min(order.Minus(pl.manager.sym[sym].free, out))
	}
	return held.Max(decimal.Zero)
}

// unsoldBase returns the position less what orders of ours, open, unknown or proposed, may sell of it; out
// are the proposed.
func (pl *placer) unsoldBase(sym int) (held, out dec) {
	held = order.Minus(pl.ledger.Quantity(pl.cfg.Symbols[sym]), pl.book.Exposure(pl.cfg.Symbols[sym]).Sell)
	for _, s := range pl.proposed {
		if s.Side == market.Sell && s.Symbol == pl.cfg.Symbols[sym] && pl.leadsPair(s) {
			out = order.Plus(out, s.Quantity)
		}
	}
	return order.Minus(held, out), out
}

// How long a balance may be behind what the venue said of orders, how often it is read, and looked at,
// meanwhile.
const (
	freeSettles = 5 * time.Second
	freeAgain   = time.Second
	freeLook    = 100 * time.Millisecond
)

// awaitsFree reports whether a sale waits for what is free.
func (pl *placer) awaitsFree(p *logicalOrder, at time.Time) bool {
	p.look = pl.freeDue(p.sym, p.Type, pl.toSell(p), at)
	return !p.look.IsZero()
}

// freeDue is when to look again for base that orders of ours have let go of and that the venue, as far as it
// was heard, does not call free yet: balances and reports of orders come in any order. It is zero when all
// that is wanted is free, or cannot be expected any more.
func (pl *placer) freeDue(sym int, typ market.OrderType, wanted dec, at time.Time) time.Time {
	s := &pl.manager.sym[sym]
	unsold, _ := pl.unsoldBase(sym)
	enough := s.rules.RoundQuantity(typ, wanted.Min(unsold))
	if at.Sub(s.freed) >= freeSettles || s.rules.RoundQuantity(typ, pl.availableBase(sym)).Cmp(enough) >= 0 {
		return time.Time{}
	}
	if at.Sub(s.asked) >= freeAgain {
		s.asked = at
		pl.manager.out.Effects = append(pl.manager.out.Effects,
			order.Effect{Do: order.FetchBalances, Symbol: pl.cfg.Symbols[sym]})
	}
	return at.Add(freeLook)
}

// toSell returns what a sale is to take of the position.
func (pl *placer) toSell(p *logicalOrder) dec {
	wanted := pl.ledger.Quantity(p.Symbol)
	if p.intent.Size.Kind == market.SizeQuantity {
		wanted = wanted.Min(order.Minus(p.Quantity, p.FilledQuantity))
	}
	return wanted
}

// makeRoom takes back the exits of brackets that hold what an order is to sell. True: wait for them.
func (pl *placer) makeRoom(p *logicalOrder, at time.Time) bool {
	if pl.availableBase(p.sym).Cmp(pl.toSell(p)) >= 0 {
		return false
	}
	wait := false
	for _, g := range pl.manager.protector.groups {
		if g.parent.Symbol == p.Symbol && g.isPlaced() {
			wait = true
			g.cancelLegs(pl.manager, at)
		}
	}
	return wait
}
