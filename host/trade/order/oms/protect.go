package oms

import (
	"fmt"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Unprotected is what becomes of a position whose exits cannot be placed.
type Unprotected string

// What becomes of it.
const (
	// Hold leaves it to the operator, who is told.
	Hold Unprotected = "hold"
	// Sell sells it, at no less than the collar allows.
	Sell Unprotected = "close"
)

// ParseUnprotected reads the option.
func ParseUnprotected(s string) (Unprotected, error) {
	switch u := Unprotected(s); u {
	case Hold, Sell:
		return u, nil
	}
	return "", fmt.Errorf("%q is not known here: write hold or close", s)
}

// The pace of protection.
const (
	// protectGrace is how long a position may be without its exits, or a stop may stand beyond its level,
	// before the operator is told and no position grows any more.
	protectGrace = 10 * time.Second
	// sellAgain is the least time between two sales of what has no exits.
	sellAgain = 5 * time.Second
	// halfGrace is how long the report of a leg may be behind that of the other one.
	halfGrace = time.Second
)

// placeAgain returns how long the exits of one bracket are not placed again after the first, second and later
// placements: at 0, 2 and 8 seconds, then every ten.
func placeAgain(tries int) time.Duration {
	switch tries {
	case 1:
		return renewEvery
	case 2:
		return 6 * time.Second
	}
	return 10 * time.Second
}

// Gap is base that brackets hold of a symbol and no working exit covers.
type Gap struct {
	Symbol  market.Symbol
	Missing dec
	// Since is when that began, as far as is known; zero: just now.
	Since time.Time
}

func (g Gap) String() string {
	return fmt.Sprintf("%s of %s is held without the exits it was bought with", g.Missing.Trim(0), g.Symbol)
}

// Gaps are the positions that are not protected. A position is protected when working sales of ours with a
// stop, at the bracket's price and not beyond it for long, cover what each bracket with a stop holds, less
// dust; of a bracket with only a target, its target. The evidence is the book: what the venue said of the
// orders, no older than the last reconcile. What the strategy offers for sale itself is its own exit, and
// what was bought without a bracket is not guarded.
func (d *Manager) Gaps(at time.Time) []Gap {
	var list []Gap
	if d.barred {
		return nil
	}
	for i, s := range d.cfg.Symbols {
		if missing := d.protector.missingCover(i, at); missing.IsPos() {
			list = append(list, Gap{s, missing, d.sym[i].bare})
		}
	}
	return list
}

// missingCover returns the base of a symbol that has no protection and should have.
func (pr *protector) missingCover(sym int, at time.Time) dec {
	need, covered, own := dec{}, dec{}, dec{}
	type shortfall struct {
		of     *bracket
		lacked dec
	}
	var short []shortfall
	for _, g := range pr.groups {
		if g.parent.sym != sym || !g.hasLiveLeg() || !g.held.IsPos() {
			continue
		}
		has := g.coveredQuantity(pr.manager, at).Min(g.held)
		if need, covered = order.Plus(need, g.held), order.Plus(covered, has); has.Cmp(g.held) < 0 {
			short = append(short, shortfall{g, order.Minus(g.held, has)})
		}
	}
	if len(short) == 0 {
		return dec{}
	}
	for _, p := range pr.manager.workingOrders() {
		if p.sym != sym || p.Side != market.Sell || p.group != nil {
			continue
		}
		if s, ok := pr.book.Get(p.currentID()); ok && isStanding(s) {
			own = order.Plus(own, order.Minus(s.Spec.Quantity, s.Filled))
		}
	}
	need = need.Min(order.Minus(pr.ledger.Quantity(pr.cfg.Symbols[sym]), own))
	missing := order.Minus(need, covered)
	for _, s := range short { // each by itself: what several lack together no exit could cover
		if !s.of.isDust(pr.manager, s.of.guardLeg(), missing.Min(s.lacked)) {
			return missing
		}
	}
	return dec{}
}

// guardLeg returns the exit that protects: the stop, or the target of a bracket without one.
func (g *bracket) guardLeg() *logicalOrder {
	if p := g.stop; p != nil && !p.done && p.ending == "" {
		return p
	}
	return g.aim
}

// isDust reports whether the venue takes no such exit for so little.
func (g *bracket) isDust(d *Manager, p *logicalOrder, quantity dec) bool {
	sym := &d.sym[g.parent.sym]
	s := d.placer.draftSpec(p)
	s.Quantity = sym.rules.RoundQuantity(s.Type, quantity)
	return sym.rules.Check(s, sym.last) == order.CodeBelowMinimum
}

// isStanding reports whether the venue has an order open, and none of ours takes it back.
func isStanding(s order.Status) bool {
	return (s.State == order.Open || s.State == order.Partial) && !s.CancelWanted
}

// coveredQuantity returns what the exit that protects sells. Where its quantity is too small for a stop the
// target has to do.
func (g *bracket) coveredQuantity(d *Manager, at time.Time) dec {
	p := g.guardLeg()
	if p == g.stop && p != nil && p.waiting && g.aim != nil && !g.aim.done {
		if s, ok := d.book.Get(g.aim.currentID()); ok &&
			g.isDust(d, p, order.Minus(s.Spec.Quantity, s.Filled)) {
			p = g.aim
		}
	}
	if p == nil || p.done || p.waiting || p.ending != "" {
		return dec{}
	}
	s, ok := d.book.Get(p.currentID())
	want := d.placer.draftSpec(p)
	fits := s.Spec.StopPrice.Cmp(want.StopPrice) == 0 && s.Spec.LimitPrice.Cmp(want.LimitPrice) == 0 &&
		s.Spec.Type == want.Type
	if p.trail.on() {
		fits = s.Spec.Type == want.Type // it follows as soon as it may
	}
	if !ok || !isStanding(s) || !fits || g.isStuck(at) {
		return dec{}
	}
	return order.Minus(s.Spec.Quantity, s.Filled)
}

// isStuck reports whether the price has been beyond the stop for so long that it should have sold.
func (g *bracket) isStuck(at time.Time) bool {
	return !g.beyondAt.IsZero() && at.Sub(g.beyondAt) >= protectGrace
}

// noteClose notes whether the close of a candle is beyond the stop.
func (g *bracket) noteClose(d *Manager, at time.Time) {
	switch {
	case !g.isBeyond(d, g.stop):
		g.beyondAt = time.Time{}
	case g.beyondAt.IsZero():
		g.beyondAt = at
	}
}

// protectAll looks after positions without protection: once the grace is over the run is halted, and the
// operator told, until it is back.
func (pr *protector) protectAll(at time.Time) {
	if pr.manager.barred {
		return
	}
	before := pr.isShouting()
	for i := range pr.manager.sym {
		s := &pr.manager.sym[i]
		missing := pr.missingCover(i, at)
		switch {
		case !missing.IsPos():
			s.bare, s.shouts = time.Time{}, false
			for _, g := range pr.groups {
				if g.parent.sym == i && g.isPlaced() {
					g.tries = 0
				}
			}
			continue
		case s.bare.IsZero():
			s.bare = at
		}
		if !s.shouts && at.Sub(s.bare) >= protectGrace {
			s.shouts = true
			pr.manager.out.Effects = append(pr.manager.out.Effects, order.Effect{
				Do: order.Halt, Symbol: pr.cfg.Symbols[i], Code: order.CodeUnprotected,
				Message: Gap{Symbol: pr.cfg.Symbols[i], Missing: missing}.String(),
			})
		}
		if s.shouts && pr.cfg.Unprotected == Sell {
			pr.sellUnprotected(i, missing, at)
		}
	}
	if before && !pr.isShouting() {
		pr.manager.out.Effects = append(pr.manager.out.Effects,
			order.Effect{Do: order.Resume, Code: order.CodeUnprotected})
	}
}

// isShouting reports whether a position has been without protection for longer than the grace.
func (pr *protector) isShouting() bool {
	for i := range pr.manager.sym {
		if pr.manager.sym[i].shouts {
			return true
		}
	}
	return false
}

// sellUnprotected sells what has no protection, at no less than the collar allows. It does not where the
// fate of a sale is not known, where the symbol does not trade and where the account has less than the books.
func (pr *protector) sellUnprotected(sym int, missing dec, at time.Time) {
	s := &pr.manager.sym[sym]
	quantity := s.rules.RoundQuantity(market.Limit, missing)
	if at.Before(s.sellNext) {
		return
	}
	s.sellNext = at.Add(time.Second)
	switch {
	case !s.rules.Trading, !s.last.IsPos(), pr.manager.placer.denyExit(sym) != "", pr.isSelling(sym):
		return
	case pr.manager.placer.availableBase(sym).Cmp(quantity) < 0, !quantity.IsPos():
		return
	}
	s.sellNext = at.Add(sellAgain)
	least := order.Times(s.last, order.Minus(decimal.One, pr.cfg.Collar))
	price, _ := least.Float64()
	size, _ := quantity.Float64()
	p := pr.manager.intake.newOrder(sym, market.Intent{
		Side: market.Sell, Type: market.Limit, TimeInForce: market.IOC, LimitPrice: price, ReduceOnly: true,
		Tag:  "unprotected",
		Size: market.Size{Kind: market.SizeQuantity, Value: size},
	})
	p.Role, p.guards, p.Quantity, p.LimitPrice = market.RoleExit, true, quantity,
		s.rules.RoundPrice(market.Sell, least)
	p.waiting = true
	pr.manager.queueUpdate(p)
	pr.manager.placer.placeOrder(p, at)
}

// plan is the exits that a bracket would place.
type plan struct {
	legs     []*logicalOrder
	quantity dec
	reached  bool   // the stop was: it sells at the market
	lame     string // why one of two is left out
	refused  string // why there is nothing to place
}

// planExits returns what can be placed for what is held and free, rounded down; standing is what the bracket
// itself has at the venue.
func (g *bracket) planExits(d *Manager, standing dec) plan {
	sym := &d.sym[g.parent.sym]
	if no := admission.Judge(d.placer.symbolConditions(g.parent.sym), admission.Protects); no.Denies() {
		return plan{refused: no.Code}
	}
	x := plan{legs: g.legs()}
	x.quantity = sym.rules.ExitQuantity(g.exitType(), g.held,
		order.Plus(d.placer.availableBase(g.parent.sym), standing))
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

// exitType returns the type of order whose steps bound the quantity.
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

// isBeyond reports whether the last close has reached the level of an exit.
func (g *bracket) isBeyond(d *Manager, p *logicalOrder) bool {
	if p == nil || p.done || !d.sym[p.sym].last.IsPos() {
		return false
	}
	last := d.sym[p.sym].last
	if p == g.stop {
		return last.Cmp(p.StopPrice) <= 0
	}
	return last.Cmp(p.LimitPrice) >= 0
}

// coversMore reports whether the exits, placed now, would cover more than those at the venue: an order that
// held a part of the position is gone, the balance is known better, or the other leg can be placed.
func (g *bracket) coversMore(d *Manager) bool {
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
		if other != g && other.parent.sym == g.parent.sym && len(other.legs()) > 0 && !other.isPlaced() &&
			other.refused == "" {
			x.quantity = order.Minus(x.quantity, other.held) // it waits for what is free
		}
	}
	if c := x.quantity.Cmp(standing); c != 0 || len(x.legs) == legs {
		return c > 0
	}
	return !x.reached
}

// placeExits proposes the exits.
func (g *bracket) placeExits(d *Manager, at time.Time) {
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
func (g *bracket) nextDue(d *Manager) time.Time {
	if !g.hasLiveLeg() || g.next.IsZero() || g.renewing || !g.held.IsPos() ||
		d.ledger.Flat(g.parent.Symbol) || !d.sym[g.parent.sym].rules.Trading {
		return time.Time{}
	}
	if g.isPlaced() && (!g.renew || g.isProposed(d)) || !g.isPlaced() &&
		(g.refused != "" || d.protector.isSelling(g.parent.sym)) {
		return time.Time{}
	}
	if due := g.half.Add(halfGrace); g.isPlaced() && g.isHalved() && due.After(g.next) {
		return due
	}
	return g.next
}

// restoreLegs lets exits wait that were refused: a halt does not last for ever, the position may.
func (g *bracket) restoreLegs(d *Manager, p Proposal, code string, at time.Time) {
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

// reportRefusal leaves the exits waiting: more may fill, or the price come nearer. The position is without
// them meanwhile.
func (g *bracket) reportRefusal(d *Manager, code string) {
	if g.warned {
		return
	}
	g.warned = true
	d.out.Effects = append(d.out.Effects,
		order.Effect{Do: order.Alarm, Symbol: g.parent.Symbol, Code: CodeNotPlaced,
			Message: "the exits of order " + g.parent.ID.String() + " cannot be placed (" + code + ")"})
}

// CodeNotPlaced is the alarm of a bracket whose exits the market does not take, or may not leave now.
const CodeNotPlaced = "EXIT_NOT_PLACED"

// isSelling reports whether an order of the strategy's is about to sell the symbol.
func (pr *protector) isSelling(sym int) bool {
	for _, p := range pr.manager.workingOrders() {
		if p.sym == sym && p.Side == market.Sell && p.group == nil && !p.done &&
			(p.waiting || p.Type == market.Market || p.TimeInForce == market.IOC) {
			return true
		}
	}
	return false
}
