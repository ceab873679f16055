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
func (e *Engine) send(m message) error {
	if e.cfg.DelayCandles <= 0 {
		return e.deliver(&m)
	}
	if m.change != nil {
		kept := *m.change // the strategy may reuse its memory
		m.change = &kept
	}
	m.sent, m.left = e.now, e.cfg.DelayCandles
	e.transit = append(e.transit, m)
	if isSubmit(m.action) {
		e.changed(m.order, market.StatusNew, "", e.now)
	}
	return nil
}

func isSubmit(a market.Action) bool { return a == market.Submit || a == market.Close }

// arrive delivers the messages that have waited for their candles, in the order of
// decisions. Candles count that opened after the decision.
func (e *Engine) arrive() error {
	waiting := e.transit[:0]
	for i := range e.transit {
		m := e.transit[i]
		if s := &e.symbols[m.sym]; s.closed && m.sent <= s.candle.OpenTime {
			m.left--
		}
		if m.left > 0 {
			waiting = append(waiting, m)
		} else if err := e.deliver(&m); err != nil {
			return err
		}
	}
	clear(e.transit[len(waiting):])
	e.transit = waiting
	e.compact()
	return nil
}

// deliver lets a message take effect. One whose order has ended meanwhile is dropped.
func (e *Engine) deliver(m *message) error {
	o := m.order
	switch {
	case o == nil:
		e.cancelAll(m.sym)
	case isSubmit(m.action):
		return e.receive(m.action, o)
	case o.done:
		e.stats.LateMessages++
	case m.action == market.Cancel:
		e.finish(o, market.StatusCanceled, market.ReasonStrategy, e.now)
	default:
		return e.substitute(o, m.change)
	}
	return nil
}

// receive puts the order of a submit or close into the queue. What depends on the
// account is settled here: the side of a close, where a trailing stop starts, and
// whether there is room.
func (e *Engine) receive(action market.Action, o *order) error {
	o.since, o.UpdatedAt = e.now, e.now
	if action == market.Close {
		o.Side = e.closingSide(o.sym)
	}
	o.Role = e.roleOf(o)
	if e.openings >= maxOpenOrders {
		e.reject(o, market.ReasonTooManyOpenOrders)
		return nil
	}
	if o.Type == market.TrailingStop {
		water, err := toDecimal(e.symbols[o.sym].candle.Close)
		if err != nil {
			return err
		}
		o.water = water
		if err := o.placeTrail(); err != nil {
			return err
		}
	}
	e.enqueue(o)
	return nil
}

// substitute gives an open order other terms. It keeps its id and goes to the end of
// the queue as newly arrived.
func (e *Engine) substitute(o *order, in *market.Intent) error {
	next := *o
	if reason := e.replaceFields(&next, in); reason != "" {
		return fmt.Errorf("replace of %s: %s", o.ID, reason)
	}
	next.arrived, next.triggered = false, next.triggered && in.StopPrice == 0
	next.since = e.now
	*o = next
	at := slices.Index(e.live, o)
	copy(e.live[at:], e.live[at+1:])
	e.live[len(e.live)-1] = o
	e.changed(o, market.StatusOpen, "", e.now)
	return nil
}

// foreseen is an order with the replaces that are on their way to it.
func (e *Engine) foreseen(o *order) *order {
	for i := len(e.transit) - 1; i >= 0; i-- {
		if m := &e.transit[i]; m.order == o && m.terms != nil {
			return m.terms
		}
	}
	return o
}

// forget ends the orders that have not arrived; nothing is on its way any more.
func (e *Engine) forget(reason market.Reason) {
	for i := range e.transit {
		if m := &e.transit[i]; isSubmit(m.action) {
			m.order.done = true
			e.changed(m.order, market.StatusCanceled, reason, e.now)
		}
	}
	e.transit = nil
}
