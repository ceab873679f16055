package sim

import (
	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// bracket is the exits of one entry. One that fills cancels the others, but of several targets each sells its
// part and the stop loss covers the rest.
type bracket struct {
	stop    *order // nil: none
	targets []*order
	inParts bool
	held    dec   // of the entry, what no exit has sold; in parts
	doubted int64 // index of the candle in which a target filled ambiguously; -1: none
}

// legs calls do with each exit that is open and not the given one, the stop loss first.
func (b *bracket) legs(but *order, do func(*order)) {
	if b.stop != nil && b.stop != but && !b.stop.done {
		do(b.stop)
	}
	for _, t := range b.targets {
		if t != but && !t.done {
			do(t)
		}
	}
}

// touchesOther reports whether the candle touches an exit too that the fill of this one ends or cuts: the
// stop loss of a target, a target of the stop loss, or one that has just filled before it.
func (b *bracket) touchesOther(o *order, s *symbolState) (touches bool) {
	if o != b.stop {
		touches = b.stop != nil && !b.stop.done && touchesInside(b.stop, &s.candle)
		if touches {
			b.doubted = s.index
		}
		return touches
	}
	b.legs(o, func(leg *order) { touches = touches || touchesInside(leg, &s.candle) })
	return touches || b.doubted == s.index
}

// makeChildren makes the bracket of a parent that has just opened quantity at price.
func (e *executor) makeChildren(parent *order, quantity, price dec, x execution) error {
	parts, ok := SplitTargets(quantity, parent.targets, e.opt.QuantityStep)
	if !ok {
		return errRange
	}
	b := &bracket{held: quantity, doubted: -1}
	var err error
	if spec := parent.stopLoss; spec != nil {
		if b.stop, err = e.newChild(parent, spec, true, quantity, price); err != nil {
			return err
		}
		e.scheduleChild(b.stop, parent, true, x)
		b.stop.bracket = b
	}
	for i, part := range parts {
		b.inParts = b.inParts || part.Cmp(quantity) != 0
		if !part.IsPos() {
			continue
		}
		leg, err := e.newChild(parent, &parent.targets[i].Level, false, part, price)
		if err != nil {
			return err
		}
		e.scheduleChild(leg, parent, false, x)
		leg.bracket, b.targets = b, append(b.targets, leg)
	}
	b.legs(nil, e.enqueue)
	return nil
}

// shareSlack is how much less than 1 shares may sum to and still be the whole: thirds and tenths have no
// exact form.
var shareSlack = decimal.MustNew(1, 9)

// SplitTargets is what each target of an entry sells: its share, rounded down to the step; the last takes the
// rest where the shares sum to 1. It is false where a share is not above 0, the shares sum to more than 1, or
// there are too many.
func SplitTargets(quantity dec, targets []market.TakeProfit, step dec) (parts []dec, ok bool) {
	if len(targets) > market.MaxTargets {
		return nil, false
	}
	var sum adder
	all, left := dec{}, quantity
	for i := range targets {
		share := sum.keep(Decimal(targets[i].Share))
		if all = sum.add(all, share); sum.err != nil || !share.IsPos() {
			return nil, false
		}
		if len(targets) == 1 && share.Cmp(decOne) == 0 {
			return []dec{quantity}, true // as it is, digits and all
		}
		part := sum.keep(mulFloor(quantity, share.Min(decOne), step.Scale()))
		parts = append(parts, sum.keep(floorTo(part, step)))
		left = sum.sub(left, parts[i])
	}
	if all.Cmp(sum.add(decOne, shareSlack)) > 0 || sum.err != nil {
		return nil, false
	}
	if n := len(parts) - 1; n >= 0 && all.Cmp(sum.sub(decOne, shareSlack)) >= 0 {
		parts[n] = sum.add(parts[n], left)
	}
	return parts, sum.err == nil
}

// settle does to a bracket what the fill of one of its exits asks for.
func (b *bracket) settle(v *venue, o *order, sold dec, at market.Time) error {
	if b == nil {
		return nil
	}
	if b.inParts && o != b.stop {
		var err error
		if b.held, err = b.held.Sub(sold); err != nil {
			return err
		}
		if b.held.IsPos() {
			if s := b.stop; s != nil && !s.done && s.Quantity.Cmp(b.held) > 0 {
				s.Quantity, s.UpdatedAt = b.held, at
				v.updates = append(v.updates, s.Order)
			}
			return nil
		}
	}
	b.legs(o, func(leg *order) { v.finish(leg, market.StatusCanceled, market.ReasonOCO, at) })
	return nil
}

func (e *executor) newChild(parent *order, spec *market.Child, stop bool, quantity,
	price dec) (*order, error) {
	in := market.Intent{Side: parent.Side.Opposite(), Type: market.Limit, ReduceOnly: true}
	role := market.RoleTakeProfit
	if stop {
		in.Type, role = market.Stop, market.RoleStopLoss
	}
	if spec.Trails() {
		in.Type = market.TrailingStop
	}
	o := e.newOrder(parent.sym, &in, parent.FilledAt)
	o.ParentID, o.parent, o.Role, o.Quantity = parent.ID, parent, role, quantity
	if in.Type == market.TrailingStop {
		o.peak = price
		if err := o.setTighten(spec, price, &e.opt); err != nil {
			return o, err
		}
	}
	if spec.TrailPercent != 0 || spec.TrailAmount != 0 {
		return o, o.setTrail(spec.TrailPercent, spec.TrailAmount)
	}
	level, err := childLevel(spec, o.Side, stop, price)
	if stop {
		o.setStop(level)
	} else {
		o.setLimit(level)
	}
	return o, err
}

// childLevel is the price of a leg: absolute, or a fraction of the parent's fill price.
func childLevel(spec *market.Child, side market.Side, stop bool, price dec) (dec, error) {
	if spec.Percent == 0 {
		return Decimal(spec.Price)
	}
	var sum adder
	share := sum.keep(Decimal(spec.Percent))
	// A stop loss that sells sits below the fill, a take profit that sells above it.
	if (side == market.Sell) == stop {
		share = share.Neg()
	}
	level := sum.keep(mulPrice(price, sum.keep(decOne.Add(share))))
	return level, sum.err
}

// scheduleChild sets from when on a leg is live (R6).
func (e *executor) scheduleChild(o, parent *order, stop bool, x execution) {
	s := &e.symbols[o.sym]
	o.bornAt, o.parentInside = s.index, x.inside
	now := e.opt.ProtectFrom != "next_candle" && (!e.opt.compat() || parent.Type == market.Market)
	if now && x.inside {
		// Where the path of the candle is not walked, only the stop may be assumed to be reached after the
		// fill.
		now = stop || e.opt.Intrabar == "ohlc_color"
	}
	if x.end {
		now = false
	}
	o.liveFrom, o.active = s.index, now
	if !now {
		o.liveFrom = s.index + 1
		o.arrived = true // it rests when the next candle opens
	}
}

// refuseBracket checks the children: one field each, no trailing target, shares that sum to at most 1,
// nothing on a reduce-only order, and an absolute price on the right side of a priced parent.
func refuseBracket(o *order, in *market.Intent) market.Reason {
	good := func(c *market.Child, stop bool) bool {
		return !in.Reduces() && validChild(c, stop, in.Side) && rightSide(o, c, stop)
	}
	_, sharesFit := SplitTargets(decOne, in.Targets, decOne)
	if in.StopLoss != nil && !good(in.StopLoss, true) || in.TakeProfit != nil && len(in.Targets) > 0 ||
		!sharesFit {
		return market.ReasonInvalidBracket
	}
	for i := range o.targets {
		if !good(&o.targets[i].Level, false) {
			return market.ReasonInvalidBracket
		}
	}
	return ""
}

// maxChildPercent is the farthest a take profit may be from the fill: a million times its price.
const maxChildPercent = 1e6

func validChild(c *market.Child, stop bool, side market.Side) bool {
	if !c.IsLevel(stop) {
		return false
	}
	below := stop == (side == market.Buy) // this leg sits below the fill price
	if (below && c.Percent >= 1) || max(c.Percent, c.TightenAfter) > maxChildPercent {
		return false
	}
	for _, v := range c.Numbers() {
		if d, err := Decimal(v); err != nil || (v != 0 && !d.IsPos()) {
			return false
		}
	}
	return true
}

// rightSide compares an absolute child price with the price of its parent, if it has one.
func rightSide(o *order, c *market.Child, stop bool) bool {
	if c.Price == 0 {
		return true
	}
	parent := o.LimitPrice
	switch o.Type {
	case market.Market, market.TrailingStop:
		return true
	case market.Stop:
		parent = o.StopPrice
	case market.StopLimit:
		// It may fill at its stop or at its limit: the stop loss must be beyond both.
		if stop && reached(o.Side, o.stopF, o.limitF) {
			parent = o.StopPrice
		}
	}
	level, err := Decimal(c.Price)
	if err != nil {
		return false
	}
	if below := stop == (o.Side == market.Buy); below {
		return level.Cmp(parent) < 0
	}
	return level.Cmp(parent) > 0
}
