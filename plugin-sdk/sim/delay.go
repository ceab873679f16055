package sim

import (
	"fmt"
	"slices"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// message is what the strategy has decided, on its way to the venue: a submit or
// close with its order, a cancel or replace of one, or a cancel of all of a symbol.
type message struct {
	action market.Action
	sym    int
	order  *order         // nil: all orders of the symbol
	change *market.Intent // of a replace
	terms  *order         // of a replace: the order as it will be
	sent   market.Time
	left   int // candles of the symbol until it arrives
}

// send delivers a message at once, or under DelayCandles puts it on its way.
func (n *intake) send(m message) error {
	if n.cfg.DelayCandles <= 0 {
		return n.deliver(&m)
	}
	if m.change != nil {
		kept := *m.change // the strategy may reuse its memory
		m.change = &kept
	}
	m.sent, m.left = n.now, n.cfg.DelayCandles
	n.transit = append(n.transit, m)
	if isSubmit(m.action) {
		n.changed(m.order, market.StatusNew, "", n.now)
	}
	return nil
}

func isSubmit(a market.Action) bool { return a == market.Submit || a == market.Close }

// arrive delivers the messages that have waited for their candles, in the order of
// decisions. Candles count that opened after the decision.
func (n *intake) arrive() error {
	waiting := n.transit[:0]
	for i := range n.transit {
		m := n.transit[i]
		if s := &n.symbols[m.sym]; s.closed && m.sent <= s.candle.OpenTime {
			m.left--
		}
		if m.left > 0 {
			waiting = append(waiting, m)
		} else if err := n.deliver(&m); err != nil {
			return err
		}
	}
	clear(n.transit[len(waiting):])
	n.transit = waiting
	n.compact()
	return nil
}

// deliver lets a message take effect. One whose order has ended meanwhile is dropped.
func (n *intake) deliver(m *message) error {
	o := m.order
	switch {
	case o == nil:
		n.cancelAll(m.sym)
	case isSubmit(m.action):
		return n.receive(m.action, o)
	case o.done:
		n.stats.LateMessages++
	case m.action == market.Cancel:
		n.finish(o, market.StatusCanceled, market.ReasonStrategy, n.now)
	default:
		return n.substitute(o, m.change)
	}
	return nil
}

// receive puts the order of a submit or close into the queue. What depends on the
// account is settled here: the side of a close, where a trailing stop starts, and
// whether there is room.
func (n *intake) receive(action market.Action, o *order) error {
	o.since, o.UpdatedAt = n.now, n.now
	if action == market.Close {
		o.Side = n.closingSide(o.sym)
	}
	o.Role = n.roleOf(o)
	if n.openings >= maxOpenOrders {
		n.reject(o, market.ReasonTooManyOpenOrders)
		return nil
	}
	if o.Type == market.TrailingStop {
		water, err := toDecimal(n.symbols[o.sym].candle.Close)
		if err != nil {
			return err
		}
		o.water = water
		if err := o.placeTrail(); err != nil {
			return err
		}
	}
	n.enqueue(o)
	return nil
}

// substitute gives an open order other terms. It keeps its id and goes to the end of
// the queue as newly arrived.
func (n *intake) substitute(o *order, in *market.Intent) error {
	next := *o
	if reason := n.replaceFields(&next, in); reason != "" {
		return fmt.Errorf("replace of %s: %s", o.ID, reason)
	}
	next.arrived, next.triggered = false, next.triggered && in.StopPrice == 0
	next.since = n.now
	*o = next
	at := slices.Index(n.live, o)
	copy(n.live[at:], n.live[at+1:])
	n.live[len(n.live)-1] = o
	n.changed(o, market.StatusOpen, "", n.now)
	return nil
}

// foreseen is an order with the replaces that are on their way to it.
func (n *intake) foreseen(o *order) *order {
	for i := len(n.transit) - 1; i >= 0; i-- {
		if m := &n.transit[i]; m.order == o && m.terms != nil {
			return m.terms
		}
	}
	return o
}

// forget ends the orders that have not arrived; nothing is on its way any more.
func (n *intake) forget(reason market.Reason) {
	for i := range n.transit {
		if m := &n.transit[i]; isSubmit(m.action) {
			m.order.done = true
			n.changed(m.order, market.StatusCanceled, reason, n.now)
		}
	}
	n.transit = nil
}
