package oms

import (
	"cmp"
	"slices"
	"time"

	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// logicalOrder is an order as the strategy knows it, with the orders of the venue behind it.
type logicalOrder struct {
	market.Order
	share
	sym    int
	intent market.Intent
	ids    []string // the last is the one that counts
	// waiting reports whether it has no order at the venue yet, or none any more, and needs one.
	waiting bool
	change  *market.Intent // a replace whose cancel is not confirmed
	// when the venue's order of a trailing stop that has moved is to be replaced; zero: it stands right
	follows time.Time
	look    time.Time // when a sale that waits for what is free looks again; zero: it does not wait for that
	ending  string    // the reason of a cancel that was asked for
	expired bool      // ... by the expiry of a gtd order
	left    int       // candles of a gtd order
	reached bool      // the stop of a stop-limit, by a candle: it has become a limit
	trail   trail
	kin
	guards bool // the host's own sale of what has no exits
	manual bool // the operator wanted it
	taken  bool // a leg whose cancel was asked for to place it anew
	done   bool
}

// kin is what an order belongs to.
type kin struct {
	group *bracket        // of a leg
	parts []dec           // of an entry: what each of its brackets has been given, targets in order
	oco   []*logicalOrder // of which the first fill cancels the others
}

// share is how an order is sized by equity.
type share struct {
	clamps bool // cut to what the cash pays for when it is sent
	asked  dec  // quantity before it is cut
	target bool // leads to a share of the equity
	before dec  // of a target: the position when what is missing was last counted
}

// trail is how a trailing stop follows.
type trail struct {
	percent, amount, highWater dec
	tightenTo, tightenFrom     dec // how far it is, as a fraction, of water beyond a price; zero: never
}

func (t trail) on() bool { return t.percent.IsPos() || t.amount.IsPos() || t.tightenTo.IsPos() }

// stop returns the trigger of a sell that trails below the water, or of a buy above it; false while it stays
// where it began.
func (t trail) stop(side market.Side) (dec, bool) {
	percent, away := t.percent, t.amount
	if t.tightenTo.IsPos() && isBetter(side, t.highWater, t.tightenFrom) {
		percent, away = t.tightenTo, dec{}
	}
	if percent.IsPos() {
		away = order.Times(t.highWater, percent)
	}
	if side == market.Sell {
		return order.Minus(t.highWater, away), away.IsPos()
	}
	return order.Plus(t.highWater, away), away.IsPos()
}

// isBetter reports whether a price is beyond another in the direction in which a trailing stop moves.
func isBetter(side market.Side, price, than dec) bool {
	if side == market.Sell {
		return price.Cmp(than) > 0
	}
	return price.Cmp(than) < 0
}

func (p *logicalOrder) currentID() string {
	if len(p.ids) == 0 {
		return ""
	}
	return p.ids[len(p.ids)-1]
}

// endOrder finishes an order that has nothing at the venue.
func (p *logicalOrder) endOrder(d *Manager, status market.OrderStatus, reason string) {
	p.Status, p.Reason, p.UpdatedAt = status, market.Reason(reason), d.now
	p.waiting, p.done = false, true
	d.queueUpdate(p)
}

// workingOrders returns the orders that are not done, in order of acceptance.
func (d *Manager) workingOrders() []*logicalOrder {
	d.live = slices.DeleteFunc(d.live, func(p *logicalOrder) bool { return p.done })
	return slices.Clone(d.live)
}

// reopenOrder puts an order back among the working ones.
func (d *Manager) reopenOrder(p *logicalOrder) {
	p.done = false
	i, found := slices.BinarySearchFunc(d.live, p, func(a, b *logicalOrder) int {
		return cmp.Compare(a.ID, b.ID)
	})
	if !found {
		d.live = slices.Insert(d.live, i, p)
	}
}

func (d *Manager) queueUpdate(p *logicalOrder) { d.updates = append(d.updates, p.Order) }

// syncState brings the order up to the state of those behind it in the book.
func (p *logicalOrder) syncState(d *Manager) {
	before := p.Order
	p.taken = p.taken && !p.done // an exit that ended is not being placed anew
	filled, spent := dec{}, dec{}
	settled := true
	for _, id := range p.ids {
		s, _ := d.book.Get(id)
		filled, spent = order.Plus(filled, s.Filled), order.Plus(spent, s.Spent)
		settled = settled && s.Settled
	}
	p.FilledQuantity, p.AveragePrice = filled, order.Share(spent, filled)
	s, ok := d.book.Get(p.currentID())
	if s.VenueOrderID != "" {
		p.ExchangeID = s.VenueOrderID
	}
	if !ok || p.waiting {
		return
	}
	if p.isNeeded(d, s, settled) {
		p.waitAgain(d)
		return
	}
	d.reopenOrder(p) // a late fill does
	status, reason := statuses[s.State], s.Reason
	switch {
	case s.State.Terminal() && !settled, s.State.Terminal() && p.isRenewed(s):
		// Trades are missing, or the next order of the venue's is about to follow: it is still at work.
		status, reason = market.StatusOpen, ""
	case s.State.Terminal():
		p.done = true
		status, reason = p.endStatus(s, status, reason)
	}
	if status == market.StatusOpen && filled.IsPos() {
		status = market.StatusPartiallyFilled
	}
	asked := p.intent.Size.Kind == market.SizeQuantity && !p.Clamped
	if !asked && status == market.StatusFilled && p.group == nil {
		p.Quantity = filled
	}
	if status != market.StatusRejected && status != market.StatusCanceled && status != market.StatusExpired {
		reason = ""
	}
	p.Status, p.Reason = status, market.Reason(reason)
	if p.Order != before {
		p.UpdatedAt = d.now
		d.queueUpdate(p)
	}
}

// isNeeded reports whether an exit ended, other than at the wish of anybody here, and what it protected
// still needs it: it never came to the venue, the venue refused or ended it, it was for less than is held,
// or the first trade of the other exit ended it, which leaves a part.
func (p *logicalOrder) isNeeded(d *Manager, s order.Status, settled bool) bool {
	if p.group == nil || p.ending != "" || d.barred {
		return false
	}
	if s.State == order.Rejected && (s.Reason == order.CodeNotSent || s.Reason == order.CodeNeverReached) {
		return true
	}
	if !s.State.Terminal() || !settled || !p.group.hasRest(d) {
		return false
	}
	return s.State == order.Filled || !p.taken
}

// waitAgain lets an exit wait to be placed anew.
func (p *logicalOrder) waitAgain(d *Manager) {
	d.reopenOrder(p)
	p.waiting, p.group.renew = true, true
	p.Quantity = order.Plus(p.group.held, p.FilledQuantity)
	if !slices.Contains(d.protector.groups, p.group) {
		d.protector.groups = append(d.protector.groups, p.group)
	}
	if p.Status.Final() {
		p.Status, p.Reason, p.UpdatedAt = market.StatusOpen, "", d.now
		if p.FilledQuantity.IsPos() {
			p.Status = market.StatusPartiallyFilled
		}
		d.queueUpdate(p)
	}
}

// endedUnsent reports whether the order ended here, before it was sent.
func endedUnsent(s order.Status) bool {
	return s.State == order.Rejected && s.Reason == order.CodeNotSent
}

// isRenewed reports whether the end of the venue's order is not that of the strategy's.
func (p *logicalOrder) isRenewed(s order.Status) bool {
	if p.group != nil && p.taken && p.ending == "" {
		return s.State.Terminal() && s.State != order.Filled // however it ended, its place is being made
	}
	return p.change != nil && (s.State == order.Canceled || endedUnsent(s))
}

// endStatus returns how an end is shown: by why it was asked for.
func (p *logicalOrder) endStatus(s order.Status, status market.OrderStatus,
	reason string) (market.OrderStatus, string) {
	back := s.State == order.Canceled || (endedUnsent(s) && p.ending != "")
	switch {
	case p.intent.PostOnly && reason == string(market.ReasonWouldTake): // some venues let it expire
		return market.StatusRejected, reason
	case back && p.expired:
		return market.StatusExpired, "gtd"
	case back && p.ending != "":
		return market.StatusCanceled, p.ending
	case back && p.group != nil && p.group.otherFilled(p):
		return status, "oco"
	case s.State == order.Expired && p.TimeInForce == market.IOC:
		return status, "ioc"
	}
	return status, reason
}

// statuses are the states as the strategy sees them; any other is new.
var statuses = map[order.State]market.OrderStatus{
	order.Open: market.StatusOpen, order.Partial: market.StatusPartiallyFilled,
	order.Filled:   market.StatusFilled,
	order.Canceled: market.StatusCanceled, order.Expired: market.StatusExpired,
	order.Rejected: market.StatusRejected, order.Denied: market.StatusRejected,
}

// cancelOrder takes the order back, for a reason.
func (p *logicalOrder) cancelOrder(d *Manager, reason string, at time.Time) {
	p.change = nil
	switch {
	case p.waiting && p.group != nil && p.FilledQuantity.IsPos() && p.FilledQuantity.Cmp(p.Quantity) >= 0:
		p.endOrder(d, market.StatusFilled, "") // a late trade was its last
		return
	case p.waiting:
		p.endOrder(d, market.StatusCanceled, reason)
		return
	}
	p.ending = reason
	d.cancelID(p.currentID(), at)
	p.syncState(d) // it may have ended already, to be placed anew
}

// onCandle lets a gtd order run out and a trailing stop follow, and ends what has waited for too long.
func (p *logicalOrder) onCandle(d *Manager, c market.Candle, at time.Time) {
	if c.OpenTime < p.CreatedAt {
		return
	}
	if p.waiting && p.Type == market.Market && d.placer.awaitsCancel(p) {
		p.endOrder(d, market.StatusRejected, order.CodeNotSent) // the price it was decided on is history
		return
	}
	if p.TimeInForce == market.GTD {
		if p.left--; p.left <= 0 && !p.expired {
			if p.waiting {
				p.endOrder(d, market.StatusExpired, "gtd")
				return
			}
			p.expired = true
			p.cancelOrder(d, "gtd", at)
			return
		}
	}
	p.reached = p.reached || p.reachesStop(c)
	if !p.trail.on() || p.expired || p.ending != "" {
		return
	}
	extreme := c.High
	if p.Side == market.Buy {
		extreme = c.Low
	}
	level, err := sim.Decimal(extreme)
	if err != nil || !isBetter(p.Side, level, p.trail.highWater) {
		return
	}
	p.trail.highWater = level
	stop, follows := p.trail.stop(p.Side)
	stop = d.sym[p.sym].rules.RoundPrice(p.Side, stop)
	if !follows || stop.Cmp(p.StopPrice) == 0 ||
		p.trail.tightenTo.IsPos() && !isBetter(p.Side, stop, p.StopPrice) {
		return
	}
	p.StopPrice, p.UpdatedAt = stop, d.now
	d.queueUpdate(p)
	if p.group != nil {
		p.group.renew = true
		return
	}
	p.follows = at
}

// reachesStop reports whether a candle reached the stop of a stop-limit that the venue has.
func (p *logicalOrder) reachesStop(c market.Candle) bool {
	if p.Type != market.StopLimit || p.waiting {
		return false
	}
	high, errHigh := sim.Decimal(c.High)
	low, errLow := sim.Decimal(c.Low)
	if p.Side == market.Buy {
		return errHigh == nil && high.Cmp(p.StopPrice) >= 0
	}
	return errLow == nil && low.Cmp(p.StopPrice) <= 0
}

// followTrail replaces the order of a trailing stop that has moved, as soon as an order may leave.
func (p *logicalOrder) followTrail(d *Manager, at time.Time) {
	if d.placer.admit(admission.Reduces) != "" {
		p.follows = at.Add(shutAgain)
		return
	}
	p.follows = time.Time{}
	if p.change == nil && !p.waiting && p.ending == "" {
		p.change = &market.Intent{Action: market.Replace}
		d.cancelID(p.currentID(), at)
	}
}

// Drain hands out what the strategy has not been told: the changes of orders and the fills since the last
// call, in order, and the round trips that closed.
func (d *Manager) Drain() (updates []market.Order, fills []market.Fill, trades []market.Trade) {
	updates, fills, trades = d.updates, d.fills, d.trades
	d.updates, d.fills, d.trades = nil, nil, nil
	return updates, fills, trades
}

// OpenOrders of the strategy, in order of acceptance, those on their way included.
func (d *Manager) OpenOrders() []market.Order {
	var list []market.Order
	for _, p := range d.workingOrders() {
		if !p.done {
			list = append(list, p.Order)
		}
	}
	return list
}

// Orders returns every order of the strategy, as of now.
func (d *Manager) Orders() []market.Order {
	list := make([]market.Order, len(d.orders))
	for i, p := range d.orders {
		list[i] = p.Order
	}
	return list
}

// Positions that are open, marked at the last close, in request order.
func (d *Manager) Positions() []market.Position {
	var list []market.Position
	for i, s := range d.cfg.Symbols {
		p := d.ledger.Position(s, d.sym[i].last, d.now)
		if p == nil {
			continue
		}
		for _, o := range d.workingOrders() {
			if o.Symbol == s && !o.done && o.Role == market.RoleStopLoss {
				p.StopLoss = o.StopPrice
			}
			if o.Symbol == s && !o.done && o.Role == market.RoleTakeProfit {
				p.TakeProfit = o.LimitPrice
			}
		}
		list = append(list, *p)
	}
	return list
}

// Equity is cash and positions at the last close.
func (d *Manager) Equity() dec {
	return d.ledger.Equity(func(s market.Symbol) dec { return d.sym[d.symbolIndex(s)].last })
}

// findOrder returns the newest open order, of which no end is wanted, with this client reference, or the one
// with this id.
func (d *Manager) findOrder(ref string) *logicalOrder {
	for _, p := range slices.Backward(d.workingOrders()) {
		if ref != "" && !p.done && p.ending == "" && (p.Ref == ref || p.ID.String() == ref) {
			return p
		}
	}
	return nil
}

// Barrier ends the sending: what waits, or is proposed and not committed, ends here, and nothing is placed
// any more.
func (d *Manager) Barrier(at time.Time) Result {
	d.barred = true
	for _, s := range d.placer.proposed {
		d.byID[s.ClientOrderID].waiting = true
	}
	d.placer.proposed = nil
	for _, p := range d.workingOrders() {
		if p.waiting {
			p.endOrder(d, market.StatusCanceled, admission.CodeEndOfRun)
		}
		p.change, p.taken = nil, false
	}
	d.protector.groups = nil
	d.applyEffects(d.book.Barrier(at), at)
	return d.takeResult()
}

// Flatten sells what is held at the market, after the barrier and once every order is confirmed to be gone.
func (d *Manager) Flatten(at time.Time) Result {
	d.book.Flatten()
	d.flatten = true
	for i, s := range d.cfg.Symbols {
		if !d.ledger.Flat(s) {
			d.intake.submitIntent(i, market.Intent{Action: market.Close})
		}
	}
	d.advance(at)
	return d.takeResult()
}

// CancelAll cancels every order that may be at the venue.
func (d *Manager) CancelAll(at time.Time) Result {
	for _, s := range d.book.Pending() {
		if p := d.byID[s.Spec.ClientOrderID]; p != nil && p.ending == "" {
			p.ending = admission.CodeEndOfRun
		}
		d.cancelID(s.Spec.ClientOrderID, at)
	}
	return d.takeResult()
}

// byOperator is the reason of a cancel, and the tag of an order, that the operator wanted.
const byOperator = "operator"

// Close sells what is held of a symbol at the market, at the operator's wish; false: nothing is.
func (d *Manager) Close(s market.Symbol, at time.Time) (Result, bool) {
	i := d.symbolIndex(s)
	if i < 0 || d.ledger.Flat(s) {
		return Result{}, false
	}
	if d.protector.isSelling(i) {
		return Result{}, true // it is on its way
	}
	d.intake.submitIntent(i, market.Intent{Action: market.Close, Tag: byOperator})
	d.orders[len(d.orders)-1].manual = true
	d.advance(at)
	return d.takeResult(), true
}

// CancelOrder takes an open order back at the operator's wish; false: there is none of that id.
func (d *Manager) CancelOrder(id string, at time.Time) (Result, bool) {
	for _, p := range d.workingOrders() {
		if p.done || p.ID.String() != id {
			continue
		}
		if p.group != nil {
			p.group.dropLeg(d, p, at)
		} else {
			p.cancelOrder(d, byOperator, at)
		}
		d.advance(at)
		return d.takeResult(), true
	}
	return Result{}, false
}

// CancelEntries takes back what would make a position larger, and counts it.
func (d *Manager) CancelEntries(at time.Time) (Result, int) {
	n := 0
	for _, p := range d.workingOrders() {
		if !p.done && p.Side == market.Buy && p.ending == "" {
			p.cancelOrder(d, byOperator, at)
			n++
		}
	}
	d.advance(at)
	return d.takeResult(), n
}
