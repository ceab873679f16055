package sim

import (
	"github.com/assay-run/assay/plugin-sdk/market"
)

// order is a market.Order with what matching needs to know of it.
type order struct {
	market.Order
	sizing
	sym           int
	limitF, stopF float64 // the float64 nearest to the decimals: triggers compare float64
	trail
	since    market.Time // eligible on candles that open from then on
	stopLoss *market.Child
	targets  []market.TakeProfit
	oco      *ocoGroup // nil: it is by itself
	lineage
	expireLeft int   // candles, with gtd
	liveFrom   int64 // first candle index of the symbol it may fill on
	candleState
	postOnly  bool // rejected where it would take at its first open
	arrived   bool // rested through an earlier candle, or counts as resting
	triggered bool // a stop_limit that has become a limit
	done      bool
}

// sizing is how much an order was asked for by.
type sizing struct {
	size market.Size
	goal dec // of a target: the signed position that it is to lead to
}

// lineage is where a bracket child comes from.
type lineage struct {
	parent       *order // nil: it is no child
	bracket      *bracket
	parentInside bool  // the parent filled inside its candle
	bornAt       int64 // candle index in which a child was made; -1 otherwise
}

// candleState is what the current candle has done with an order.
type candleState struct {
	active         bool // it takes part in the candle
	opened, tested bool // seen by the open and the inside passes
	justTriggered  bool
	held           bool // compat: give way to the stop loss
	raised         bool // compat: the candle has moved it and may reach it
}

// isStop reports whether the order waits for its stop price.
func (o *order) isStop() bool {
	switch o.Type {
	case market.Stop, market.TrailingStop:
		return true
	case market.StopLimit:
		return !o.triggered
	}
	return false
}

func (o *order) isChild() bool { return o.parent != nil }

// newOrder gives an intent an id and a place in the queue. It is not announced yet.
func (v *venue) newOrder(sym int, in *market.Intent, at market.Time) *order {
	v.stats.Orders++
	o := &order{sym: sym, sizing: sizing{size: in.Size}, stopLoss: in.StopLoss, targets: in.TakeProfits(),
		expireLeft: in.ExpireAfter, since: at, lineage: lineage{bornAt: -1}, postOnly: in.PostOnly}
	o.Order = market.Order{
		ID: market.OrderID(v.stats.Orders), Ref: in.ClientRef, Symbol: v.cfg.Symbols[sym], Side: in.Side,
		Type:        in.Type,
		TimeInForce: in.TimeInForce, ReduceOnly: in.Reduces(), Tag: in.Tag, CreatedAt: at, UpdatedAt: at,
	}
	o.Role = v.roleOf(o)
	return o
}

// roleOf is the role of an order that waits: exit if it would reduce the position.
func (v *venue) roleOf(o *order) market.Role {
	if v.isExit(o) {
		return market.RoleExit
	}
	return market.RoleEntry
}

// enqueue puts an accepted order last in the queue.
func (v *venue) enqueue(o *order) {
	v.live = append(v.live, o)
	v.openings++
	v.changed(o, market.StatusOpen, "", o.UpdatedAt)
}

// reject ends an order that has not been accepted.
func (v *venue) reject(o *order, reason market.Reason) {
	o.done = true
	v.stats.RejectedOrders++
	v.changed(o, market.StatusRejected, reason, v.now)
}

// finish ends an order that did not fill.
func (v *venue) finish(o *order, status market.OrderStatus, reason market.Reason, at market.Time) {
	if status == market.StatusRejected {
		v.stats.RejectedOrders++
	}
	v.close(o)
	v.changed(o, status, reason, at)
}

func (v *venue) close(o *order) {
	if !o.done {
		o.done = true
		v.openings--
	}
}

// changed announces a new state.
func (v *venue) changed(o *order, status market.OrderStatus, reason market.Reason, at market.Time) {
	o.Status, o.Reason, o.UpdatedAt = status, reason, at
	v.digest.order(v.step, &o.Order)
	v.updates = append(v.updates, o.Order)
	if v.rec != nil {
		v.rec.Order(v.step, &o.Order)
	}
}

func (o *order) setLimit(d dec) { o.LimitPrice, o.limitF = d, Float(d) }

func (o *order) setStop(d dec) { o.StopPrice, o.stopF = d, Float(d) }
