package sim

import (
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// pair is a limit and a stop of which one cancels the other. The simulator has such
// siblings below a filled entry only, so the venue looks at each candle before it is
// matched and takes away the leg that bar-v1 would come to second: at the open the limit
// comes first when the candle opens through it, inside it is the stop.
type pair struct {
	legs  [2]*order // limit, stop
	since market.Time
}

// openPairs are the pairs with both legs open, oldest first.
func (a *account) openPairs() []*pair {
	var list []*pair
	for _, o := range a.orders {
		if p := o.pair; p != nil && p.legs[0] == o && !p.legs[0].final() && !p.legs[1].final() {
			list = append(list, p)
		}
	}
	return list
}

// loser is the leg that a candle must not reach although it could.
func (p *pair) loser(b *sim.Batch, a *account) *order {
	limit, stop := p.legs[0], p.legs[1]
	i := a.v.symbol(limit.Symbol)
	if !b.Closed[i] || b.Candles[i].OpenTime < p.since {
		return nil
	}
	c := &b.Candles[i]
	limitAt, _ := limit.LimitPrice.Float64()
	stopAt, _ := stop.StopPrice.Float64()
	opens, hit := c.Open >= limitAt, c.Low <= stopAt
	if limit.Side == market.Buy {
		opens, hit = c.Open <= limitAt, c.High >= stopAt
	}
	switch {
	case opens:
		return stop
	case hit:
		return limit
	}
	return nil
}

// survivor is the leg that is still open although the other has ended.
func (p *pair) survivor() *order {
	for i, o := range p.legs {
		if !o.final() && p.legs[1-i].final() {
			return o
		}
	}
	return nil
}
