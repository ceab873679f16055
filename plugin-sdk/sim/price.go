package sim

import (
	"math"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// execution is where in a candle a fill happens.
type execution struct {
	at     market.Time // open time of the candle, or the close at the end of a run
	inside bool        // after the open
	end    bool        // at a close: end of data or liquidation
}

// reached reports whether a price is at or beyond a level in the direction of the order:
// at or below for a buy, at or above for a sell.
func reached(side market.Side, price, level float64) bool {
	if side == market.Buy {
		return price <= level
	}
	return price >= level
}

// triggers reports whether a price sets off a stop: at or above for a buy.
func triggers(side market.Side, price, stop float64) bool {
	return reached(side.Opposite(), price, stop)
}

// favourable is the candle's extreme that a limit order waits for; adverse the one
// that sets off a stop.
func favourable(side market.Side, c *market.Candle) float64 {
	if side == market.Buy {
		return c.Low
	}
	return c.High
}

func adverse(side market.Side, c *market.Candle) float64 { return favourable(side.Opposite(), c) }

// inRange is false when no price of the candle reaches the order.
func (o *order) inRange(c *market.Candle) bool {
	if o.Type == market.Market {
		return true
	}
	up := o.Side == market.Sell // waits for a price from below
	level := o.limitF
	if o.isStop() {
		up, level = !up, o.stopF
	}
	if up {
		return c.High >= level || c.Open >= level || c.Close >= level
	}
	return c.Low <= level || c.Open <= level || c.Close <= level
}

// touchLevel is the price that a limit must see: the limit, or one tick through it
// once it has rested through an earlier candle.
func (e *executor) touchLevel(o *order) float64 {
	if e.opt.LimitTouch != "through_tick" || !o.arrived {
		return o.limitF
	}
	tick := e.symbols[o.sym].tick
	if o.Side == market.Buy {
		tick = tick.Neg()
	}
	level, err := o.LimitPrice.Add(tick)
	if err != nil {
		return o.limitF
	}
	return Float(level)
}

// tryOpen fills an order at the open (R5): a market order always, a stop whose trigger the
// open has passed (a gap), a limit that the open reaches.
func (m *matcher) tryOpen(o *order) error {
	s := &m.symbols[o.sym]
	c := &s.candle
	x := execution{at: c.OpenTime}
	switch {
	case o.Type == market.Market:
		return m.exec.fillAt(o, m.marketPrice(o, c), market.Taker, x)
	case o.isStop():
		if !triggers(o.Side, c.Open, o.stopF) {
			return nil
		}
		if m.opt.keepsLevels() && (o.moved || reached(o.Side, favourable(o.Side, c), o.stopF)) {
			return nil // limits come first, or the candle comes back to it
		}
		return m.exec.trigger(o, c.Open, x)
	case !o.arrived:
		if !reached(o.Side, c.Open, o.limitF) || m.givesWay(o, c) {
			return nil
		}
		if o.postOnly {
			m.finish(o, market.StatusRejected, market.ReasonWouldTake, x.at)
			return nil
		}
		return m.exec.fillAt(o, c.Open, market.Taker, x)
	case m.opt.keepsLevels() || !reached(o.Side, c.Open, m.exec.touchLevel(o)) || m.givesWay(o, c):
		return nil
	case m.opt.RestingGap == "open":
		return m.exec.fillAt(o, c.Open, market.Maker, x)
	}
	return m.exec.fill(o, o.LimitPrice, market.Maker, x)
}

// marketPrice is the open, or under stress the worse of open and close.
func (m *matcher) marketPrice(o *order, c *market.Candle) float64 {
	if m.cfg.WorstPrice && reached(o.Side, c.Open, c.Close) {
		return c.Close
	}
	return c.Open
}

// givesWay: where other engines are reproduced, a take profit that the candle
// opens through yields to the stop loss that the same candle touches.
func (m *matcher) givesWay(o *order, c *market.Candle) bool {
	if !m.opt.compat() || o.Role != market.RoleTakeProfit {
		return false
	}
	sl := o.bracket.stop
	if sl == nil || sl.done || !sl.active || sl.moved {
		return false
	}
	o.held = triggers(sl.Side, adverse(sl.Side, c), sl.stopF)
	return o.held
}

// tryInside fills an order inside the candle if its extremes reach it.
func (m *matcher) tryInside(o *order) error {
	c := &m.symbols[o.sym].candle
	if !m.exec.reachedInside(o, c) {
		return nil
	}
	return m.exec.fillInside(o, c.Open)
}

// reachedInside reports whether the candle reaches the order after its open.
func (e *executor) reachedInside(o *order, c *market.Candle) bool {
	if o.TimeInForce == market.IOC || o.held || o.Type == market.Market {
		return false
	}
	if o.isStop() {
		return triggers(o.Side, adverse(o.Side, c), o.stopF)
	}
	return reached(o.Side, favourable(o.Side, c), e.touchLevel(o))
}

// fillInside fills an order at its own price, on the way from a price. A stop that
// was made beyond that price already goes off there: it can fill no better.
func (e *executor) fillInside(o *order, from float64) error {
	c := &e.symbols[o.sym].candle
	x := execution{at: c.OpenTime, inside: true}
	switch {
	case !o.isStop() && e.opt.keepsLevels() && reached(o.Side, adverse(o.Side, c), o.limitF):
		return e.fillAt(o, adverse(o.Side, c), market.Maker, x) // the nearest price that the candle has
	case !o.isStop():
		return e.fill(o, o.LimitPrice, market.Maker, x)
	case e.opt.keepsLevels():
		price, err := o.keptPrice(&e.symbols[o.sym])
		if err != nil {
			return err
		}
		return e.trigger(o, price, x)
	case triggers(o.Side, from, o.stopF):
		return e.trigger(o, from, x)
	}
	return e.trigger(o, o.stopF, x)
}

// trigger sets off a stop at a price. A stop_limit beyond its limit becomes a limit
// order that arrives at the next candle.
func (e *executor) trigger(o *order, price float64, x execution) error {
	if o.Type == market.StopLimit && !reached(o.Side, price, o.limitF) {
		o.triggered, o.justTriggered = true, true
		o.arrived, o.tested = false, true
		return nil
	}
	if price == o.stopF {
		return e.fill(o, o.StopPrice, market.Taker, x)
	}
	return e.fillAt(o, price, market.Taker, x)
}

func (e *executor) fillAt(o *order, price float64, l market.Liquidity, x execution) error {
	ref, err := Decimal(price)
	if err == nil && !ref.IsPos() {
		err = errRange // a price below what the ledger can write down
	}
	if err != nil {
		return err
	}
	return e.fill(o, ref, l, x)
}

// fillPrice adds slippage to a taker's reference price, never beyond a limit.
func (e *executor) fillPrice(o *order, ref dec, l market.Liquidity) (dec, error) {
	if l == market.Maker || !e.slips {
		return ref, nil
	}
	price, err := mulPrice(ref, e.taker[o.Side])
	if err != nil || !o.Type.NeedsLimit() {
		return price, err
	}
	if c := price.Cmp(o.LimitPrice); (o.Side == market.Buy && c > 0) || (o.Side == market.Sell && c < 0) {
		return o.LimitPrice, nil
	}
	return price, nil
}

// walk is phase 4 along the supposed path of the candle: to the low first when it
// closed at or above its open, else to the high first.
func (m *matcher) walk(sym int) error {
	c := &m.symbols[sym].candle
	path := [...]float64{c.Open, c.Low, c.High, c.Close}
	if c.Close < c.Open {
		path[1], path[2] = c.High, c.Low
	}
	for leg := 1; leg < len(path); leg++ {
		pos := path[leg-1]
		for {
			o, at := m.nextOnPath(sym, pos, path[leg])
			if o == nil {
				break
			}
			pos = at
			if err := m.exec.fillInside(o, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextOnPath is the order that a move from one price to another reaches first;
// ties go by class as in stop_first, then by sequence number.
func (m *matcher) nextOnPath(sym int, from, to float64) (*order, float64) {
	var best *order
	var bestAt float64
	bestRank := 0
	for _, o := range m.live {
		if o.sym != sym || !o.active || o.done || o.justTriggered || o.held || o.TimeInForce == market.IOC ||
			o.Type == market.Market {
			continue
		}
		at, ok := m.onPath(o, from, to)
		if !ok {
			continue
		}
		rank := m.rank(o)
		if best == nil || math.Abs(at-from) < math.Abs(bestAt-from) || (at == bestAt && rank < bestRank) {
			best, bestAt, bestRank = o, at, rank
		}
	}
	return best, bestAt
}

// onPath is where on the way from one price to another the order is reached.
func (m *matcher) onPath(o *order, from, to float64) (float64, bool) {
	level, hit := 0.0, reached
	if o.isStop() {
		level, hit = o.stopF, triggers
	} else {
		level = m.exec.touchLevel(o)
	}
	switch {
	case hit(o.Side, from, level):
		return from, true
	case hit(o.Side, to, level):
		return level, true
	}
	return 0, false
}

func (m *matcher) rank(o *order) int {
	switch {
	case !o.isStop():
		return 2
	case m.isExit(o):
		return 0
	}
	return 1
}
