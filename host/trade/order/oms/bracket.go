package oms

import (
	"slices"
	"time"

	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// arrival is how long the first part of an entry waits for the others before it gets exits of its own: an
// entry that takes several prices of a book is heard of in as many parts, and the exits of the first would
// keep those of the rest waiting for renewEvery.
const arrival = 200 * time.Millisecond

// renewEvery is the least time between two placements of the exits of one bracket.
const renewEvery = 2 * time.Second

// shutAgain is how often it is tried to renew exits while no order may leave.
const shutAgain = time.Second

// bracket is the exits of one entry, or of the part of it that one of several targets sells: a stop loss, a
// take profit, or a pair of both.
type bracket struct {
	parent    *logicalOrder
	part      int           // of several targets, which one
	stop, aim *logicalOrder // nil where there is none, or none any more
	held      dec           // what the entry brought and no exit has sold
	renew     bool          // a price or the quantity changed
	renewing  bool          // the exits are being taken back
	next      time.Time     // no exits are placed before
	warned    bool
	refused   string    // why nothing could be placed: something has to happen first
	lame      string    // why only one exit of two was placed
	tries     int       // placements since it was last covered
	half      time.Time // since when one leg of two stands alone; zero: it does not
	parts     time.Time // when the first part of the entry came alone; zero: it did not
	beyondAt  time.Time // since when closes are beyond the stop; zero: the last is not
}

// growBrackets makes or grows the brackets of an entry that filled.
func (pr *protector) growBrackets(p *logicalOrder, net, price dec) {
	if pr.manager.barred || (p.intent.StopLoss == nil && len(p.intent.TakeProfits()) == 0) {
		return
	}
	for i, part := range pr.divide(p, net, price) {
		p.parts[i] = order.Plus(p.parts[i], part)
		if !part.IsZero() && (i < len(p.intent.TakeProfits()) || p.intent.StopLoss != nil) {
			pr.growBracket(p, i, part, price)
		}
	}
}

// liveBracket returns the bracket of a part of an entry that has an exit at work; nil: none.
func (pr *protector) liveBracket(p *logicalOrder, part int) (g *bracket) {
	for _, x := range pr.groups {
		if x.parent == p && x.part == part && x.hasLiveLeg() {
			g = x
		}
	}
	return g
}

func (pr *protector) growBracket(p *logicalOrder, part int, net, price dec) {
	g := pr.liveBracket(p, part)
	if g == nil {
		g = &bracket{parent: p, part: part}
		pr.groups = append(pr.groups, g)
		g.stop = pr.makeLeg(g, p.intent.StopLoss, true, price)
		if targets := p.intent.TakeProfits(); part < len(targets) {
			g.aim = pr.makeLeg(g, &targets[part].Level, false, price)
		}
	}
	g.held, g.renew = order.Plus(g.held, net), true
	for _, leg := range g.legs() {
		leg.Quantity = order.Plus(g.held, leg.FilledQuantity)
	}
}

// makeLeg makes one exit as the strategy sees it.
func (pr *protector) makeLeg(g *bracket, c *market.Child, stop bool, price dec) *logicalOrder {
	if c == nil {
		return nil
	}
	in := market.Intent{Side: market.Sell, Type: market.Limit, ReduceOnly: true, Tag: g.parent.Tag}
	if stop {
		in.Type = market.Stop
	}
	if c.Trails() {
		in.Type = market.TrailingStop
	}
	leg := pr.manager.intake.newOrder(g.parent.sym, in)
	leg.ParentID, leg.Role, leg.group, leg.waiting = g.parent.ID, market.RoleTakeProfit, g, true
	if stop {
		leg.Role = market.RoleStopLoss
	}
	rules := pr.manager.sym[leg.sym].rules
	if c.TightenTo > 0 {
		to, _ := sim.Decimal(c.TightenTo)
		gain, _ := sim.Decimal(c.TightenAfter)
		from := order.Plus(price, order.Times(price, gain))
		leg.trail = trail{highWater: price, tightenTo: to, tightenFrom: from}
	}
	if c.TrailPercent > 0 || c.TrailAmount > 0 {
		leg.setTrail(c.TrailPercent, c.TrailAmount, price, rules)
		return leg
	}
	if level := rules.RoundPrice(market.Sell, levelOf(c, stop, price)); stop {
		leg.StopPrice = level
	} else {
		leg.LimitPrice = level
	}
	return leg
}

// levelOf returns where an exit sits at first, for the price at which its entry filled.
func levelOf(c *market.Child, stop bool, price dec) dec {
	level, _ := sim.Decimal(c.Price)
	share, _ := sim.Decimal(max(c.Percent, c.TrailPercent))
	away, _ := sim.Decimal(c.TrailAmount)
	switch away = order.Plus(away, order.Times(price, share)); {
	case level.IsPos():
		return level
	case stop:
		return order.Minus(price, away)
	}
	return order.Plus(price, away)
}

func (g *bracket) legs() []*logicalOrder {
	var list []*logicalOrder
	for _, p := range [...]*logicalOrder{g.aim, g.stop} {
		if p != nil && !p.done {
			list = append(list, p)
		}
	}
	return list
}

// hasLiveLeg reports whether an exit is at work and not about to end.
func (g *bracket) hasLiveLeg() bool {
	return slices.ContainsFunc(g.legs(), func(p *logicalOrder) bool { return p.ending == "" })
}

// isPlaced reports whether exits are, or may be, at the venue.
func (g *bracket) isPlaced() bool {
	for _, p := range g.legs() {
		if !p.waiting {
			return true
		}
	}
	return false
}

// otherFilled reports whether the other exit filled.
func (g *bracket) otherFilled(p *logicalOrder) bool {
	for _, other := range [...]*logicalOrder{g.stop, g.aim} {
		if other != nil && other != p && other.FilledQuantity.IsPos() {
			return true
		}
	}
	return false
}

// isProposed reports whether exits are proposed and not answered: what the venue does not have yet cannot be
// cancelled.
func (g *bracket) isProposed(d *Manager) bool {
	for _, p := range g.legs() {
		if _, known := d.book.Get(p.currentID()); !p.waiting && !known {
			return true
		}
	}
	return false
}

// endReason is why an exit ends when nothing is held any more.
func (g *bracket) endReason(p *logicalOrder) string {
	if g.otherFilled(p) {
		return "oco"
	}
	return "position_closed"
}

// hasRest reports whether something is held that can be sold.
func (g *bracket) hasRest(d *Manager) bool {
	sym := d.sym[g.parent.sym]
	return !sym.rules.Dust(g.held.Min(d.ledger.Quantity(g.parent.Symbol)), sym.last)
}

// isHalved reports whether one exit of two stands at the venue and the other one waits.
func (g *bracket) isHalved() bool {
	legs := g.legs()
	return len(legs) == 2 && legs[0].waiting != legs[1].waiting
}

// cancelLegs cancels the exits; they are placed anew when it is confirmed.
func (g *bracket) cancelLegs(d *Manager, at time.Time) {
	g.renew = true
	if g.renewing || g.isProposed(d) {
		return
	}
	g.renewing = true
	for _, p := range g.legs() {
		if !p.waiting {
			p.taken = true
			d.cancelID(p.currentID(), at)
		}
	}
}

// dropLeg ends one exit at the strategy's wish and keeps the other.
func (g *bracket) dropLeg(d *Manager, p *logicalOrder, at time.Time) {
	if p.waiting {
		p.endOrder(d, market.StatusCanceled, "strategy")
		return
	}
	p.ending = "strategy"
	if d.placer.denyExit(g.parent.sym) != "" && g.hasLiveLeg() {
		g.renew = true // the other one, which ends with it at the venue, could not be placed anew
		return
	}
	g.cancelLegs(d, at)
}

// updateExits brings the exits at the venue to what they should be.
func (g *bracket) updateExits(d *Manager, at time.Time) {
	legs := g.legs()
	if len(legs) == 0 {
		return
	}
	if d.ledger.Flat(g.parent.Symbol) || !g.held.IsPos() {
		for _, p := range legs {
			if p.ending == "" {
				p.cancelOrder(d, g.endReason(p), at)
			}
		}
		return
	}
	if g.renewing && !g.confirmCancelled(d) {
		return
	}
	if g.isPlaced() {
		if !g.isHalved() {
			g.half = time.Time{}
		} else if g.half.IsZero() {
			g.half = at
		}
		g.renew = g.renew || g.coversMore(d) || g.isStuck(at)
		switch {
		case g.renew && at.Before(g.half.Add(halfGrace)): // what ended the other leg is on its way
		case !g.renew || at.Before(g.next) || !d.sym[g.parent.sym].rules.Trading:
		case d.placer.denyExit(g.parent.sym) != "":
			g.next = at.Add(shutAgain) // they protect until others can take their place
		default:
			g.cancelLegs(d, at)
		}
		return
	}
	g.gatherParts(d, at)
	if !at.Before(g.next) {
		g.placeExits(d, at)
	}
}

// gatherParts holds the first placement back while parts of the entry arrive, for a moment.
func (g *bracket) gatherParts(d *Manager, at time.Time) {
	entry, _ := d.book.Get(g.parent.currentID())
	switch arriving := entry.State == order.Partial || entry.State.Terminal() && !entry.Settled; {
	case g.tries > 0:
	case arriving && g.parts.IsZero():
		g.parts, g.next = at, at.Add(arrival)
	case !arriving && !g.parts.IsZero() && g.next.Equal(g.parts.Add(arrival)):
		g.next = at
	}
}

// confirmCancelled reports whether the venue confirmed the end of all exits; those that only made room wait
// again.
func (g *bracket) confirmCancelled(d *Manager) bool {
	for _, p := range g.legs() {
		if p.waiting {
			continue
		}
		if s, _ := d.book.Get(p.currentID()); !s.State.Terminal() || !s.Settled {
			return false
		}
	}
	g.renewing = false
	for _, p := range g.legs() {
		if s, _ := d.book.Get(p.currentID()); !p.taken || s.State == order.Filled || p.ending != "" {
			p.syncState(d)
			continue
		}
		p.waiting = true
	}
	return true
}
