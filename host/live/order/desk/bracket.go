package desk

import (
	"time"

	"github.com/assay-run/assay/host/live/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// renewEvery is the least time between two placements of the exits of one bracket.
const renewEvery = 2 * time.Second

// bracket is the exits of one entry: a stop loss, a take profit, or a pair of both.
type bracket struct {
	parent    *public
	stop, aim *public // nil where there is none, or none any more
	held      dec     // what the entry brought and no exit has sold
	size      dec     // of the exits at the venue
	renew     bool    // a price or the quantity changed
	renewing  bool    // the exits are being taken back
	since     time.Time
	warned    bool
	lame      bool // one exit waits because the price is beyond its level
}

// protect makes or grows the bracket of an entry that filled.
func (d *Desk) protect(p *public, net, price dec) {
	if p.intent.StopLoss == nil && p.intent.TakeProfit == nil {
		return
	}
	var g *bracket
	for _, x := range d.groups {
		if x.parent == p && len(x.legs()) > 0 {
			g = x
		}
	}
	if g == nil {
		g = &bracket{parent: p}
		d.groups = append(d.groups, g)
		g.stop = d.leg(g, p.intent.StopLoss, true, price)
		g.aim = d.leg(g, p.intent.TakeProfit, false, price)
	}
	g.held, g.renew = order.Plus(g.held, net), true
	for _, leg := range g.legs() {
		leg.Quantity = g.held
	}
}

// leg makes one exit as the strategy sees it.
func (d *Desk) leg(g *bracket, c *market.Child, stop bool, price dec) *public {
	if c == nil {
		return nil
	}
	in := market.Intent{Side: market.Sell, Type: market.Limit, ReduceOnly: true, Tag: g.parent.Tag}
	if stop {
		in.Type = market.Stop
	}
	if c.TrailPercent > 0 || c.TrailAmount > 0 {
		in.Type = market.TrailingStop
	}
	leg := d.newOrder(g.parent.sym, in)
	leg.ParentID, leg.Role, leg.group, leg.parent, leg.waiting = g.parent.ID, market.RoleTakeProfit, g, g.parent, true
	if stop {
		leg.Role = market.RoleStopLoss
	}
	rules := d.sym[leg.sym].rules
	if in.Type == market.TrailingStop {
		leg.setTrail(c.TrailPercent, c.TrailAmount, price, rules)
		return leg
	}
	level, _ := order.FromFloat(c.Price)
	if c.Percent > 0 {
		away, _ := order.FromFloat(c.Percent)
		away = order.Times(price, away)
		if level = order.Plus(price, away); stop {
			level = order.Minus(price, away)
		}
	}
	if level = rules.RoundPrice(market.Sell, level); stop {
		leg.StopPrice = level
	} else {
		leg.LimitPrice = level
	}
	return leg
}

func (g *bracket) legs() []*public {
	var list []*public
	for _, p := range [...]*public{g.aim, g.stop} {
		if p != nil && !p.done {
			list = append(list, p)
		}
	}
	return list
}

// placed says that exits are, or may be, at the venue.
func (g *bracket) placed() bool {
	for _, p := range g.legs() {
		if !p.waiting {
			return true
		}
	}
	return false
}

// fired says that the other exit filled.
func (g *bracket) fired(p *public) bool {
	for _, other := range [...]*public{g.stop, g.aim} {
		if other != nil && other != p && other.FilledQuantity.IsPos() {
			return true
		}
	}
	return false
}

// out says that exits are proposed and not answered: what nobody has yet cannot be cancelled.
func (g *bracket) out(d *Desk) bool {
	for _, p := range g.legs() {
		if _, known := d.book.Get(p.live()); !p.waiting && !known {
			return true
		}
	}
	return false
}

// over is why an exit ends when nothing is held any more.
func (g *bracket) over(p *public) string {
	if g.fired(p) {
		return "oco"
	}
	return "position_closed"
}

// halfFired says that the other exit filled in part and is still at work.
func (g *bracket) halfFired(p *public) bool {
	for _, other := range [...]*public{g.stop, g.aim} {
		if other != nil && other != p && other.FilledQuantity.IsPos() && !other.done {
			return g.held.IsPos()
		}
	}
	return false
}

// takeBack cancels the exits; they are placed anew when it is confirmed.
func (g *bracket) takeBack(d *Desk, at time.Time) {
	g.renew = true
	if g.renewing || g.out(d) {
		return
	}
	g.renewing = true
	for _, p := range g.legs() {
		if !p.waiting {
			p.taken = true
			d.cancelID(p.live(), at)
		}
	}
}

// drop ends one exit at the strategy's wish and keeps the other.
func (g *bracket) drop(d *Desk, p *public, at time.Time) {
	if p.waiting {
		p.end(d, market.StatusCanceled, "strategy")
		return
	}
	p.ending = "strategy"
	g.takeBack(d, at)
}

// work brings the exits at the venue to what they should be.
func (g *bracket) work(d *Desk, at time.Time) {
	legs := g.legs()
	if len(legs) == 0 {
		return
	}
	if d.ledger.Flat(g.parent.Symbol) || !g.held.IsPos() {
		for _, p := range legs {
			if p.ending == "" {
				p.cancel(d, g.over(p), at)
			}
		}
		return
	}
	if g.renewing && !g.back(d) {
		return
	}
	if g.placed() {
		if g.lame && !g.beyond(d, g.stop) && !g.beyond(d, g.aim) {
			g.renew = true
		}
		if g.renew && at.Sub(g.since) >= renewEvery {
			g.takeBack(d, at)
		}
		return
	}
	if at.Sub(g.since) >= renewEvery || g.since.IsZero() {
		g.place(d, at)
	}
}

// beyond says that the last close has reached the level of an exit.
func (g *bracket) beyond(d *Desk, p *public) bool {
	if p == nil || p.done {
		return false
	}
	last := d.sym[p.sym].last
	if p == g.stop {
		return last.Cmp(p.StopPrice) <= 0
	}
	return last.Cmp(p.LimitPrice) >= 0
}

// back says that the venue confirmed the end of all exits; those that only made room wait again.
func (g *bracket) back(d *Desk) bool {
	for _, p := range g.legs() {
		if p.waiting {
			continue
		}
		if s, _ := d.book.Get(p.live()); !s.State.Terminal() || !s.Settled {
			return false
		}
	}
	g.renewing = false
	for _, p := range g.legs() {
		if s, _ := d.book.Get(p.live()); p.waiting || !p.taken || s.State != order.Canceled || p.ending != "" {
			p.sync(d)
			continue
		}
		p.waiting = true
	}
	return true
}

// place proposes the exits for what is held and free, rounded down.
func (g *bracket) place(d *Desk, at time.Time) {
	legs := g.legs()
	if len(legs) == 0 || d.selling(g.parent.sym) {
		return
	}
	sym := &d.sym[g.parent.sym]
	typ := market.Limit
	if g.stop != nil && !g.stop.done {
		typ = market.Stop
	}
	// The price is beyond a level already: no venue takes that as a stop or in a pair. The stop
	// sells at once, as it would have; the aim sells at its limit or better.
	reached := false
	g.lame = false
	for _, p := range [...]*public{g.aim, g.stop} {
		if g.beyond(d, p) {
			reached, g.lame = p == g.stop, len(legs) == 2
			legs = []*public{p}
		}
	}
	quantity := sym.rules.ExitQuantity(typ, g.held, d.available(g.parent.sym))
	specs := make([]order.Spec, len(legs))
	for i, p := range legs {
		specs[i] = d.next(p)
		specs[i].Quantity = quantity
		if reached {
			specs[i].Type, specs[i].StopPrice = market.Market, dec{}
		}
		if code := sym.rules.Check(specs[i], sym.last); code != "" {
			g.refuse(d, code)
			return
		}
	}
	if len(specs) == 2 {
		list := order.ListID(d.cfg.RunID, specs[0].Seq)
		specs[0].ListID, specs[1].ListID = list, list
		specs[0].Sibling, specs[1].Sibling = specs[1].ClientOrderID, specs[0].ClientOrderID
	}
	for _, p := range legs {
		p.waiting, p.taken = false, false
		p.Quantity = order.Plus(quantity, p.FilledQuantity)
	}
	g.size, g.since, g.renew, g.warned = quantity, at, false, false
	d.propose(Proposal{Specs: specs, Shrinks: true, Protects: true}, legs...)
}

// nextDue is when the exits may be placed again.
func (g *bracket) nextDue() time.Time {
	if len(g.legs()) == 0 || g.since.IsZero() || g.renewing || (g.placed() && !g.renew) {
		return time.Time{}
	}
	return g.since.Add(renewEvery)
}

// deniedAgain is how long exits that risk refused wait longer.
const deniedAgain = 8 * time.Second

// denied puts exits back that risk refused: a halt does not last for ever, the position may.
func (g *bracket) denied(d *Desk, p Proposal, code string, at time.Time) {
	for _, s := range p.Specs {
		leg := d.byID[s.ClientOrderID]
		delete(d.byID, s.ClientOrderID)
		leg.ids = leg.ids[:len(leg.ids)-1]
		leg.waiting = true
	}
	g.since = at.Add(deniedAgain)
	g.refuse(d, code)
}

// refuse leaves the exits waiting: more may fill, or the price come nearer. The position is without them meanwhile.
func (g *bracket) refuse(d *Desk, code string) {
	if g.warned {
		return
	}
	g.warned = true
	d.out.Effects = append(d.out.Effects, order.Effect{Do: order.Alarm, Symbol: g.parent.Symbol, Code: CodeUnprotected,
		Message: "the exits of order " + g.parent.ID.String() + " cannot be placed (" + code + ")"})
}

// CodeUnprotected is the alarm of a bracket whose exits the market does not take.
const CodeUnprotected = "EXIT_NOT_PLACED"

// selling says that an order of the strategy's is about to sell the symbol.
func (d *Desk) selling(sym int) bool {
	for _, p := range d.working() {
		if p.sym == sym && p.Side == market.Sell && p.group == nil && !p.done && (p.waiting || p.Type == market.Market) {
			return true
		}
	}
	return false
}
