package sim

import "github.com/assay-run/assay/plugin-sdk/market"

// trail is how a trailing stop follows its peak (R7).
type trail struct {
	trailPercent, trailAmount dec // how far it is; both zero: it stays where it begins
	tightenTo                 dec // how far as a fraction once the peak is beyond tightenFrom; zero: never
	tightenFrom               dec
	peak                      dec  // the extreme that it follows: the low of a buy
	moved                     bool // compat: it gives way to limits
}

// setTrail stores the distance and places the stop.
func (o *order) setTrail(percent, amount float64) error {
	if err := o.setDistance(percent, amount); err != nil {
		return err
	}
	return o.placeTrail()
}

// setDistance stores how far a trailing stop is from what it follows.
func (o *order) setDistance(percent, amount float64) error {
	var sum adder
	o.trailPercent, o.trailAmount = sum.keep(Decimal(percent)), sum.keep(Decimal(amount))
	return sum.err
}

// setTighten stores from which price on the stop of an entry at another one is tighter (R7.1). Where the
// profile follows inside a candle, a gain is what is left of it after the fees of both sides.
func (o *order) setTighten(spec *market.Child, price dec, opt *Options) error {
	if spec.TightenTo == 0 {
		return nil
	}
	var sum adder
	gain, fee := sum.keep(Decimal(spec.TightenAfter)), dec{}
	if opt.trailsInside() {
		fee = opt.FeeTaker
	}
	if o.Side == market.Buy {
		gain, fee = gain.Neg(), fee.Neg()
	}
	o.tightenTo = sum.keep(Decimal(spec.TightenTo))
	if share := sum.keep(decOne.Add(gain)); share.IsPos() { // else a short gains more than all
		share = sum.keep(mulPrice(share, sum.keep(decOne.Add(fee))))
		o.tightenFrom = sum.keep(mulPrice(price, sum.keep(share.Quo(sum.keep(decOne.Sub(fee))))))
	}
	return sum.err
}

// isTightened reports whether the peak has gained what makes the stop tighter.
func (o *order) isTightened() bool { return !o.tightenTo.IsZero() && o.isBetter(o.peak, o.tightenFrom) }

// isBetter reports whether a price is beyond another in the direction in which a trailing stop moves.
func (o *order) isBetter(price, than dec) bool {
	if o.Side == market.Sell {
		return price.Cmp(than) > 0
	}
	return price.Cmp(than) < 0
}

// placeTrail puts the stop where the peak asks for it.
func (o *order) placeTrail() error {
	level, follows, err := o.trailLevel(o.peak)
	if err == nil && follows {
		o.setStop(level)
	}
	return err
}

// trailLevel is the stop for a price that it follows: below it for a sell, above for a buy. It is false while
// the stop stays where it begins.
func (o *order) trailLevel(price dec) (level dec, follows bool, err error) {
	percent, amount := o.trailPercent, o.trailAmount
	if o.isTightened() {
		percent, amount = o.tightenTo, dec{}
	}
	follows = !percent.IsZero() || !amount.IsZero()
	if o.Side == market.Sell {
		percent, amount = percent.Neg(), amount.Neg()
	}
	var sum adder
	level = sum.keep(price.Add(amount))
	if !percent.IsZero() {
		level = sum.keep(mulPrice(price, sum.keep(decOne.Add(percent))))
	}
	return level, follows, sum.err
}

// moveTrail moves the peak after a candle: to its extreme, or only to its close after
// the candle inside which the parent filled.
func (m *matcher) moveTrail(o *order, s *symbolState) error {
	extreme := s.candle.High
	if o.Side == market.Buy {
		extreme = s.candle.Low
	}
	if o.bornAt == s.index && o.parentInside {
		extreme = s.candle.Close
	}
	peak, err := Decimal(extreme)
	if err != nil || !o.isBetter(peak, o.peak) {
		return err
	}
	o.peak = peak
	level, follows, err := o.trailLevel(peak)
	if err != nil || !follows || !o.tightenTo.IsZero() && !o.isBetter(level, o.StopPrice) {
		return err
	}
	o.setStop(level)
	o.moved = m.opt.trailsInside()
	o.UpdatedAt = m.now
	m.updates = append(m.updates, o.Order)
	return nil
}

// trailInside moves trailing stops by the candle that may reach them then, but for those that it reaches
// where they are (R7.2).
func (m *matcher) trailInside() error {
	if !m.opt.trailsInside() {
		return nil
	}
	for _, o := range m.live {
		s := &m.symbols[o.sym]
		if o.Type != market.TrailingStop || !o.active || o.done || touchesInside(o, &s.candle) {
			continue
		}
		before := o.stopF
		if err := m.moveTrail(o, s); err != nil {
			return err
		}
		o.raised = o.stopF != before
	}
	return nil
}

// keptPrice is where a stop goes off that keeps its price as far as the candle has it: at the open of a
// candle that is all beyond it.
func (o *order) keptPrice(s *symbolState) (float64, error) {
	switch {
	case !reached(o.Side, favourable(o.Side, &s.candle), o.stopF):
		return s.candle.Open, nil
	case o.raised && o.bornAt == s.index:
		return o.worstTrail(&s.candle)
	}
	return o.stopF, nil
}

// worstTrail is the price of a stop loss that the candle of its entry has moved: the candle goes no farther
// than the stop needs to follow, comes back, and ends there at the latest (R7.4).
func (o *order) worstTrail(c *market.Candle) (float64, error) {
	var sum adder
	share, amount := o.trailPercent.Neg(), o.trailAmount.Neg()
	if o.isTightened() {
		share, amount = o.tightenTo.Neg(), dec{}
		if o.trailPercent.IsZero() && o.trailAmount.IsZero() {
			share = sum.keep(share.Add(sum.keep(Decimal(o.parent.stopLoss.TightenAfter))))
		}
	}
	if o.Side == market.Buy {
		share, amount = share.Neg(), amount.Neg()
	}
	price := sum.keep(mulPrice(sum.keep(Decimal(c.Open)), sum.keep(decOne.Add(share))))
	price = sum.keep(price.Add(amount))
	if o.Side == market.Sell {
		return max(Float(price), c.Low), sum.err
	}
	return min(Float(price), c.High), sum.err
}
