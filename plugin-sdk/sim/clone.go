package sim

import "slices"

// Clone returns a copy of the engine that plays on by itself and records nothing: what would happen if no
// intent came. Config.Judge and Config.Stale are shared, and asked only about intents, also about those that
// arrive late.
func (e *Engine) Clone() *Engine {
	c := &Engine{venue: e.venue, seen: e.seen, bankrupt: e.bankrupt}
	v := &c.venue
	v.rec, v.digest.buf, v.updates = nil, nil, slices.Clone(v.updates)
	l := v.ledger
	v.ledger = &ledger{scale: l.scale, initial: l.initial, cash: l.cash, fees: l.fees,
		books: slices.Clone(l.books), cashF: l.cashF}
	v.symbols = slices.Clone(v.symbols)
	for i := range v.symbols {
		ids := &v.symbols[i].trade.orders.ids
		*ids = slices.Clone(*ids)
	}
	copies := orderCopies{orders: map[*order]*order{}, brackets: map[*bracket]*bracket{},
		groups: map[*ocoGroup]*ocoGroup{}}
	v.live = copies.list(v.live)
	c.intake = intake{venue: v, transit: slices.Clone(e.intake.transit)}
	for i := range c.intake.transit {
		m := &c.intake.transit[i]
		m.order, m.terms = copies.order(m.order), copies.order(m.terms)
	}
	c.exec = executor{venue: v, taker: e.exec.taker, slips: e.exec.slips, fills: slices.Clone(e.exec.fills)}
	c.matcher = matcher{venue: v, exec: &c.exec}
	return c
}

// Idle reports whether nothing can happen at a candle if no intent comes: no order waits, and what is held is
// long and paid for, so that no price can take the account's equity away.
func (e *Engine) Idle() bool {
	if len(e.venue.live) > 0 || len(e.intake.transit) > 0 || e.venue.ledger.cashF < 0 {
		return false
	}
	return !slices.ContainsFunc(e.venue.ledger.books, func(b book) bool { return b.quantity.IsNeg() })
}

// orderCopies copies orders with all that they refer to, each once. Children and targets of an order that is
// accepted never change: they are shared.
type orderCopies struct {
	orders   map[*order]*order
	brackets map[*bracket]*bracket
	groups   map[*ocoGroup]*ocoGroup
}

func (c *orderCopies) list(orders []*order) []*order {
	list := make([]*order, len(orders))
	for i, o := range orders {
		list[i] = c.order(o)
	}
	return list
}

func (c *orderCopies) order(o *order) *order {
	if o == nil || c.orders[o] != nil {
		return c.orders[o]
	}
	n := *o
	c.orders[o] = &n
	n.parent, n.bracket, n.oco = c.order(o.parent), c.bracket(o.bracket), c.group(o.oco)
	return &n
}

func (c *orderCopies) bracket(b *bracket) *bracket {
	if b == nil || c.brackets[b] != nil {
		return c.brackets[b]
	}
	n := *b
	c.brackets[b] = &n
	n.stop, n.targets = c.order(b.stop), c.list(b.targets)
	return &n
}

func (c *orderCopies) group(g *ocoGroup) *ocoGroup {
	if g == nil || c.groups[g] != nil {
		return c.groups[g]
	}
	n := &ocoGroup{}
	c.groups[g] = n
	n.orders = c.list(g.orders)
	return n
}
