package sim

import (
	"math"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// TargetSize is the signed position that a target asks for, or the code by which it can have none (R8.4):
// EquitySize of its share. Backtest, paper and live share it.
func TargetSize(in *market.Intent, equity, last, step dec) (dec, market.Reason) {
	if in.Size.Value == 0 && !in.Reduces() {
		return dec{}, ""
	}
	share := *in
	share.Size = market.Size{Kind: market.SizeEquityFraction, Value: math.Abs(in.Size.Value)}
	q, code := EquitySize(&share, equity, last, step)
	if in.Size.Value < 0 {
		q = q.Neg()
	}
	return q, code
}

// TargetMove is how a position comes to a target: by less of it, and then by more. All reports whether the
// whole of it goes, dust included.
func TargetMove(goal, held dec) (less, more dec, all bool, err error) {
	if held.IsZero() || goal.IsZero() || goal.IsNeg() != held.IsNeg() {
		return held.Abs(), goal.Abs(), !held.IsZero(), nil
	}
	var sum adder
	switch d := sum.sub(goal.Abs(), held.Abs()); {
	case d.IsNeg():
		less = d.Neg()
	default:
		more = d
	}
	return less, more, false, sum.err
}

// submitTarget makes the orders of a target. The code is why there is none: the share of the equity is less
// than one step, and nothing is held.
func (n *intake) submitTarget(sym int, in *market.Intent) (market.Reason, error) {
	goal, reason := dec{}, market.ReasonWarmup
	if !n.warmup() {
		var err error
		if goal, reason, err = n.equityQuantity(sym, in); err != nil {
			return "", err
		}
		if reason == "" && goal.IsNeg() && !n.opt.AllowShort {
			reason = market.ReasonShortNotAllowed
		}
	}
	reached := reason == "" && n.cfg.DelayCandles <= 0 && goal.Cmp(n.ledger.books[sym].quantity) == 0
	small := reached && goal.IsZero() && in.Size.Value != 0
	if n.rec != nil && !small {
		n.rec.Intent(n.step, in, "")
	}
	if reached {
		n.cancelTarget(sym)
	}
	switch {
	case small:
		return market.ReasonQuantityBelowStep, nil
	case reached:
		return "", nil
	}
	asked := *in
	keepChildren(&asked)
	o := n.newOrder(sym, &asked, n.now)
	o.goal = goal
	if reason == "" {
		if _, err := o.aim(n.ledger.books[sym].quantity); err != nil {
			return "", err
		}
		as := o.asPart(&asked)
		reason = n.refuse(o, &as)
	}
	if reason != "" {
		n.reject(o, reason)
		return "", nil
	}
	return "", n.send(message{action: in.Action, sym: sym, order: o, target: &asked})
}

// cancelTarget takes back the open orders of the target before.
func (n *intake) cancelTarget(sym int) {
	for _, o := range n.live {
		if o.sym == sym && o.size.Kind == market.SizeTargetFraction && !o.done {
			n.finish(o, market.StatusCanceled, market.ReasonStrategy, n.now)
		}
	}
}

// aim gives the order of a target its side and quantity: what the position held now has too much or too
// little. Through zero it closes, and more is what a second order opens.
func (o *order) aim(held dec) (more dec, err error) {
	less, more, all, err := TargetMove(o.goal, held)
	if err != nil {
		return more, err
	}
	o.Side = market.Buy
	if o.goal.Cmp(held) < 0 {
		o.Side = market.Sell
	}
	if !less.IsPos() {
		o.Quantity = more
		return dec{}, nil
	}
	o.ReduceOnly, o.Quantity = true, less
	o.stopLoss, o.targets = nil, nil
	if all {
		o.Quantity = dec{} // whatever is held at the fill
	}
	return more, nil
}

// asPart is what one order of a target asks for, by the order that it has become.
func (o *order) asPart(asked *market.Intent) market.Intent {
	as := *asked
	as.Side, as.ReduceOnly, as.StopLoss = o.Side, o.ReduceOnly, o.stopLoss
	as.TakeProfit, as.Targets = nil, o.targets
	return as
}

// receiveTarget settles what a target still has to do when it arrives.
func (n *intake) receiveTarget(m *message) error {
	o := m.order
	o.ReduceOnly, o.stopLoss, o.targets = false, m.target.StopLoss, m.target.TakeProfits()
	more, err := o.aim(n.ledger.books[m.sym].quantity)
	if err != nil {
		return err
	}
	n.cancelTarget(m.sym)
	if !o.ReduceOnly && !o.Quantity.IsPos() {
		o.done = true // another order has led to it meanwhile
		n.changed(o, market.StatusCanceled, market.ReasonQuantityBelowStep, n.now)
		return nil
	}
	if err := n.receive(m.action, o); err != nil || !more.IsPos() {
		return err
	}
	second := n.newOrder(m.sym, m.target, n.now)
	second.Side, second.goal, second.Quantity = o.Side, o.goal, more
	as := second.asPart(m.target)
	if reason := n.refuse(second, &as); reason != "" {
		n.reject(second, reason)
		return nil
	}
	return n.receive(m.action, second)
}
