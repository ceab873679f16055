package desk

import (
	"time"

	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// plan is the exits that a bracket would place.
type plan struct {
	legs     []*logicalOrder
	quantity dec
	reached  bool   // the stop was: it sells at the market
	lame     string // why one of two is left out
	refused  string // why there is nothing to place
}

// planExits says what can be placed for what is held and free, rounded down; standing is what the bracket
// itself has at the venue.
func (g *bracket) planExits(d *Desk, standing dec) plan {
	sym := &d.sym[g.parent.sym]
	if no := admission.Judge(d.placer.symbolConditions(g.parent.sym), admission.Protects); no.Denies() {
		return plan{refused: no.Code}
	}
	x := plan{legs: g.legs()}
	x.quantity = sym.rules.ExitQuantity(g.exitType(), g.held, order.Plus(d.placer.availableBase(g.parent.sym), standing))
	// The price is beyond a level already: no venue takes that as a stop or in a pair. The stop
	// sells at once, as it would have; the aim sells at its limit or better.
	for _, p := range [...]*logicalOrder{g.aim, g.stop} {
		if g.isBeyond(d, p) {
			if len(g.legs()) == 2 {
				x.lame = beyondLevel
			}
			x.legs, x.reached = []*logicalOrder{p}, p == g.stop
		}
	}
	var good []*logicalOrder
	for _, p := range x.legs {
		if code := sym.rules.Check(x.spec(d.placer.draftSpec(p)), sym.last); code != "" {
			x.refused = code
			continue
		}
		good = append(good, p)
	}
	if len(good) > 0 && len(good) < len(x.legs) {
		x.lame, x.refused = x.refused, "" // one exit is better than none
	}
	x.legs = good
	return x
}

// exitType is the type of order whose steps bound the quantity.
func (g *bracket) exitType() market.OrderType {
	if g.stop != nil && !g.stop.done {
		return market.Stop
	}
	return market.Limit
}

// beyondLevel is why an exit waits whose level the price has passed.
const beyondLevel = "beyond its level"

// spec sizes the order of a leg.
func (x plan) spec(s order.Spec) order.Spec {
	s.Quantity = x.quantity
	if x.reached {
		s.Type, s.StopPrice = market.Market, dec{}
	}
	return s
}

// isBeyond says that the last close has reached the level of an exit.
func (g *bracket) isBeyond(d *Desk, p *logicalOrder) bool {
	if p == nil || p.done || !d.sym[p.sym].last.IsPos() {
		return false
	}
	last := d.sym[p.sym].last
	if p == g.stop {
		return last.Cmp(p.StopPrice) <= 0
	}
	return last.Cmp(p.LimitPrice) >= 0
}

// coversMore says that the exits, placed now, would cover more than those at the venue: an order that held a part of
// the position is gone, the balance is known better, or the other leg can be placed.
func (g *bracket) coversMore(d *Desk) bool {
	if g.renewing || g.isProposed(d) || d.protector.isSelling(g.parent.sym) {
		return false
	}
	standing, legs := dec{}, 0
	for _, p := range g.legs() {
		s, ok := d.book.Get(p.currentID())
		if p.waiting || !ok {
			continue
		}
		if !s.State.Exposed() || s.CancelWanted {
			return false
		}
		standing, legs = order.Minus(s.Spec.Quantity, s.Filled), legs+1
	}
	if g.lame == "" && standing.Cmp(g.held) >= 0 {
		return false
	}
	x := g.planExits(d, standing)
	if x.refused != "" || len(x.legs) < legs {
		return false
	}
	for _, other := range d.protector.groups {
		if other != g && other.parent.sym == g.parent.sym && len(other.legs()) > 0 && !other.isPlaced() && other.refused == "" {
			x.quantity = order.Minus(x.quantity, other.held) // it waits for what is free
		}
	}
	if c := x.quantity.Cmp(standing); c != 0 || len(x.legs) == legs {
		return c > 0
	}
	return !x.reached
}

// placeExits proposes the exits.
func (g *bracket) placeExits(d *Desk, at time.Time) {
	if d.protector.isSelling(g.parent.sym) {
		return
	}
	if code := d.placer.denyExit(g.parent.sym); code != "" {
		g.next, g.refused = at.Add(shutAgain), ""
		g.reportRefusal(d, code)
		return
	}
	if look := d.placer.freeDue(g.parent.sym, g.exitType(), g.held, at); !look.IsZero() {
		g.next, g.refused = look, ""
		return
	}
	x := g.planExits(d, dec{})
	if g.refused = x.refused; g.refused != "" {
		g.reportRefusal(d, g.refused)
		return
	}
	specs := make([]order.Spec, len(x.legs))
	for i, p := range x.legs {
		specs[i] = x.spec(d.placer.nextSpec(p))
		p.waiting, p.taken = false, false
		p.Quantity = order.Plus(x.quantity, p.FilledQuantity)
	}
	if len(specs) == 2 {
		list := order.ListID(d.cfg.RunID, specs[0].Seq)
		specs[0].ListID, specs[1].ListID = list, list
		specs[0].Sibling, specs[1].Sibling = specs[1].ClientOrderID, specs[0].ClientOrderID
	}
	if x.lame != "" && x.lame != beyondLevel && x.lame != g.lame {
		g.warned = false
		g.reportRefusal(d, x.lame)
	}
	g.tries++
	g.beyondAt = time.Time{}
	g.next, g.renew, g.warned, g.lame = at.Add(placeAgain(g.tries)), false, false, x.lame
	d.placer.handOut(Proposal{Specs: specs, Shrinks: true, Protects: true}, x.legs...)
}

// nextDue is when the exits may be placed again; zero: not before something else happens.
func (g *bracket) nextDue(d *Desk) time.Time {
	if !g.hasLiveLeg() || g.next.IsZero() || g.renewing || !g.held.IsPos() || d.ledger.Flat(g.parent.Symbol) || !d.sym[g.parent.sym].rules.Trading {
		return time.Time{}
	}
	if g.isPlaced() && (!g.renew || g.isProposed(d)) || !g.isPlaced() && (g.refused != "" || d.protector.isSelling(g.parent.sym)) {
		return time.Time{}
	}
	if due := g.half.Add(halfGrace); g.isPlaced() && g.isHalved() && due.After(g.next) {
		return due
	}
	return g.next
}

// restoreLegs lets exits wait that were refused: a halt does not last for ever, the position may.
func (g *bracket) restoreLegs(d *Desk, p Proposal, code string, at time.Time) {
	for _, s := range p.Specs {
		leg := d.byID[s.ClientOrderID]
		delete(d.byID, s.ClientOrderID)
		leg.ids = leg.ids[:len(leg.ids)-1]
		if leg.waiting = true; leg.ending != "" {
			leg.endOrder(d, market.StatusCanceled, leg.ending)
		}
	}
	g.next = at.Add(shutAgain)
	g.reportRefusal(d, code)
}

// reportRefusal leaves the exits waiting: more may fill, or the price come nearer. The position is without them meanwhile.
func (g *bracket) reportRefusal(d *Desk, code string) {
	if g.warned {
		return
	}
	g.warned = true
	d.out.Effects = append(d.out.Effects, order.Effect{Do: order.Alarm, Symbol: g.parent.Symbol, Code: CodeNotPlaced,
		Message: "the exits of order " + g.parent.ID.String() + " cannot be placed (" + code + ")"})
}

// CodeNotPlaced is the alarm of a bracket whose exits the market does not take, or may not leave now.
const CodeNotPlaced = "EXIT_NOT_PLACED"

// isSelling says that an order of the strategy's is about to sell the symbol.
func (pr *protector) isSelling(sym int) bool {
	for _, p := range pr.desk.workingOrders() {
		if p.sym == sym && p.Side == market.Sell && p.group == nil && !p.done &&
			(p.waiting || p.Type == market.Market || p.TimeInForce == market.IOC) {
			return true
		}
	}
	return false
}
