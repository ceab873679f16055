package desk

import (
	"slices"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// work does what has become possible: orders that waited are proposed, replaced ones placed anew,
// brackets renewed, rests settled.
func (d *Desk) work(at time.Time) {
	for _, g := range d.protector.groups {
		if g.renewing {
			g.back(d)
		}
	}
	for _, p := range d.working() {
		if !p.follows.IsZero() && !at.Before(p.follows) {
			p.follow(d, at)
		}
		if p.change != nil && !p.waiting {
			d.changed(p)
		}
		if p.waiting && p.group == nil {
			d.placer.place(p, at)
		}
	}
	for i, s := range d.cfg.Symbols {
		if d.book.Exposure(s).Sell.IsZero() {
			if t := d.ledger.Settle(s, d.sym[i].rules, d.sym[i].last); t != nil {
				d.trades = append(d.trades, *t)
			}
		}
	}
	d.protector.groups = slices.DeleteFunc(d.protector.groups, func(g *bracket) bool { return len(g.legs()) == 0 })
	for _, g := range d.protector.groups {
		g.work(d, at)
	}
	d.protector.protectAll(at)
}

// changed looks whether the cancel of a replaced order is confirmed, and what it left.
func (d *Desk) changed(p *public) {
	s, _ := d.book.Get(p.live())
	if !s.State.Terminal() || !s.Settled {
		return
	}
	in := p.change
	p.change = nil
	if s.State != order.Canceled && !withdrawn(s) {
		p.sync(d) // it ended otherwise: there is nothing to replace
		return
	}
	p.apply(d, in)
	if p.Quantity.IsPos() && p.FilledQuantity.Cmp(p.Quantity) >= 0 {
		p.end(d, market.StatusFilled, "")
		return
	}
	p.waiting = true
}

// place proposes an order, once nothing holds back what it needs.
func (pl *placer) place(p *public, at time.Time) {
	shut := pl.admit(admission.KindOf(true, p.guards || p.manual))
	if shut == "" && p.Side == market.Sell && (pl.makeRoom(p, at) || pl.awaitsFree(p, at)) {
		return
	}
	spec, reason := pl.spec(p)
	if reason != "" && shut != "" {
		reason = shut // the exits hold what it wants to sell, and keep it
	}
	if reason == "" {
		reason = admission.Judge(pl.standing(p.sym), admission.KindOf(p.Side == market.Sell, false)).Code
	}
	if reason == "" {
		reason = pl.desk.sym[p.sym].rules.Check(spec, pl.desk.sym[p.sym].last)
	}
	if reason != "" {
		p.end(pl.desk, market.StatusRejected, reason)
		return
	}
	p.waiting = false
	pl.propose(Proposal{Specs: []order.Spec{spec}, Shrinks: p.Side == market.Sell, Protects: p.guards || p.manual}, p)
}

// propose hands the specs out and ties them to the orders they are of.
func (pl *placer) propose(proposal Proposal, orders ...*public) {
	for i, s := range proposal.Specs {
		pl.desk.byID[s.ClientOrderID] = orders[i]
		orders[i].ids = append(orders[i].ids, s.ClientOrderID)
	}
	pl.proposed = append(pl.proposed, proposal.Specs...)
	pl.desk.out.Proposals = append(pl.desk.out.Proposals, proposal)
}

// next is a spec with the next number.
func (pl *placer) next(p *public) order.Spec {
	pl.seq++
	s := pl.draft(p)
	s.Seq, s.ClientOrderID = pl.seq, order.ClientID(pl.cfg.RunID, pl.seq)
	return s
}

// draft is a spec without a number, on the ticks of today.
func (pl *placer) draft(p *public) order.Spec {
	rules := pl.desk.sym[p.sym].rules
	s := order.Spec{
		Symbol: p.Symbol, Side: p.Side, Type: p.Type, LimitPrice: rules.RoundPrice(p.Side, p.LimitPrice), StopPrice: rules.RoundPrice(p.Side, p.StopPrice),
		Reference: pl.desk.sym[p.sym].last, Exit: p.Side == market.Sell, Manual: pl.desk.flatten || p.manual, Protects: p.group != nil || p.guards, Public: p.ID, Step: pl.desk.step,
	}
	if p.Type == market.TrailingStop {
		s.Type = market.Stop
	}
	if p.TimeInForce == market.IOC {
		s.TimeInForce = market.IOC // gtd is counted here: the venue knows no candles
	}
	return s
}

// spec sizes an order for the venue.
func (pl *placer) spec(p *public) (order.Spec, string) {
	s, rules := pl.next(p), pl.desk.sym[p.sym].rules
	rest := order.Minus(p.Quantity, p.FilledQuantity)
	switch {
	case p.Side == market.Sell:
		s.Quantity = rules.ExitQuantity(s.Type, pl.toSell(p), pl.available(p.sym))
		p.Quantity = order.Plus(s.Quantity, p.FilledQuantity)
	case p.intent.Size.Kind == market.SizeQuantity:
		s.Quantity = rules.RoundQuantity(s.Type, rest)
		if rules.Affordable(s.Type, pl.freeCash(), s.Price()).Cmp(s.Quantity) < 0 {
			return s, "insufficient_cash" // the venue would say no, and rejects count
		}
	default:
		budget := pl.budget(p)
		if !budget.IsPos() {
			return s, "insufficient_cash"
		}
		s = pl.buyFor(p, s, budget)
		if room := pl.room(p.Symbol); room.Cmp(budget) < 0 {
			// A size that the market does not take is not cut down: the limit itself refuses the order.
			if less := pl.buyFor(p, s, room); rules.Check(less, pl.desk.sym[p.sym].last) == "" {
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

// buyFor sizes a buy by an amount of quote.
func (pl *placer) buyFor(p *public, s order.Spec, budget dec) order.Spec {
	rules := pl.desk.sym[p.sym].rules
	if p.Type == market.Market {
		s.QuoteAmount = rules.Spendable(budget)
	} else {
		s.Quantity = rules.Affordable(s.Type, budget, s.Price())
	}
	return s
}

// room is what the limits leave for one more buy of a symbol.
func (pl *placer) room(symbol market.Symbol) dec {
	if pl.cfg.Room == nil {
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
	return pl.cfg.Room(symbol, of, all)
}

// budget of a buy that is sized by cash: never more than the cash that no working order may spend.
func (pl *placer) budget(p *public) dec {
	free := pl.freeCash()
	v, _ := order.FromFloat(p.intent.Size.Value)
	if p.intent.Size.Kind == market.SizeCashFraction {
		return order.Times(free, v)
	}
	return v.Min(free)
}

// freeCash is the cash that no working order may spend.
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

// available is the base that no order of ours holds: at most what the run holds, and what is free at the venue.
func (pl *placer) available(sym int) dec {
	held, out := pl.unsold(sym)
	if pl.desk.sym[sym].known {
		held = held.Min(order.Minus(pl.desk.sym[sym].free, out))
	}
	return held.Max(decimal.Zero)
}

// unsold is the position less what orders of ours, open, unknown or proposed, may sell of it; out are the proposed.
func (pl *placer) unsold(sym int) (held, out dec) {
	held = order.Minus(pl.ledger.Quantity(pl.cfg.Symbols[sym]), pl.book.Exposure(pl.cfg.Symbols[sym]).Sell)
	for _, s := range pl.proposed {
		if s.Side == market.Sell && s.Symbol == pl.cfg.Symbols[sym] && pl.leads(s) {
			out = order.Plus(out, s.Quantity)
		}
	}
	return order.Minus(held, out), out
}

// How long a balance may be behind what the venue said of orders, how often it is read, and looked at, meanwhile.
const (
	freeSettles = 5 * time.Second
	freeAgain   = time.Second
	freeLook    = 100 * time.Millisecond
)

// awaitsFree says that a sale waits for what is free.
func (pl *placer) awaitsFree(p *public, at time.Time) bool {
	p.look = pl.behind(p.sym, p.Type, pl.toSell(p), at)
	return !p.look.IsZero()
}

// behind is when to look again for base that orders of ours have let go of and that the venue, as far as it was heard,
// does not call free yet: balances and reports of orders come in any order. It is zero when all that is wanted is
// free, or cannot be expected any more.
func (pl *placer) behind(sym int, typ market.OrderType, wanted dec, at time.Time) time.Time {
	s := &pl.desk.sym[sym]
	unsold, _ := pl.unsold(sym)
	enough := s.rules.RoundQuantity(typ, wanted.Min(unsold))
	if at.Sub(s.freed) >= freeSettles || s.rules.RoundQuantity(typ, pl.available(sym)).Cmp(enough) >= 0 {
		return time.Time{}
	}
	if at.Sub(s.asked) >= freeAgain {
		s.asked = at
		pl.desk.out.Effects = append(pl.desk.out.Effects, order.Effect{Do: order.FetchBalances, Symbol: pl.cfg.Symbols[sym]})
	}
	return at.Add(freeLook)
}

// toSell is what a sale wants of the position.
func (pl *placer) toSell(p *public) dec {
	wanted := pl.ledger.Quantity(p.Symbol)
	if p.intent.Size.Kind == market.SizeQuantity {
		wanted = wanted.Min(order.Minus(p.Quantity, p.FilledQuantity))
	}
	return wanted
}

// makeRoom takes back the exits of brackets that hold what an order wants to sell. True: wait for them.
func (pl *placer) makeRoom(p *public, at time.Time) bool {
	if pl.available(p.sym).Cmp(pl.toSell(p)) >= 0 {
		return false
	}
	wait := false
	for _, g := range pl.desk.protector.groups {
		if g.parent.Symbol == p.Symbol && g.placed() {
			wait = true
			g.takeBack(pl.desk, at)
		}
	}
	return wait
}
