package account

import (
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Position is one holding of a symbol, from flat to flat, as its fills have made it.
type Position struct {
	// Symbol is the index in Run.Candles.
	Symbol int
	// Enter is the step of the first fill, Leave that of the last; -1 where it is open at the
	// end.
	Enter, Leave int
	// Equity is that of the step before the first fill.
	Equity float64
	// Adds counts the further orders that made it larger, Losing those of them while it was at a
	// loss: at a price below the average entry until then, for a short position above it. An
	// order that is filled in parts is one.
	Adds, Losing int
	// First is the quantity of the first order, Largest the most that was held.
	First, Largest float64
	// WorstLoss is the largest loss on paper at a close, in the quote currency, at least 0; Last
	// is the profit on paper at the last close that it was held at.
	WorstLoss, Last float64
}

// Positions are the holdings of a run in the order of their first fills, and OpenLoss the loss on
// paper of all of them together at each step, negative for a profit.
type Positions struct {
	List     []Position
	OpenLoss []float64
}

// holding is a position on its way through the steps.
type holding struct {
	at                int // in Positions.List
	quantity, average float64
	order             market.OrderID // the last one that made it larger
	orders            int
}

// Positions follows the fills through the steps. Closes are the marks, as in the equity curve.
func (g *Grid) Positions() *Positions {
	out := &Positions{OpenLoss: make([]float64, len(g.Curve.Equity))}
	bySymbol := map[market.Symbol]int{}
	for i, s := range g.Run.Candles {
		bySymbol[s.Symbol] = i
	}
	held := make([]holding, len(g.Run.Candles))
	for i := range held {
		held[i].at = -1
	}
	fills, next := g.Run.Results.Fills, 0
	for k := range out.OpenLoss {
		for ; next < len(fills); next++ {
			symbol, known := bySymbol[fills[next].Symbol]
			if known && g.stepOf(symbol, fills[next].Time) > k {
				break
			}
			if known {
				out.book(g, &held[symbol], symbol, k, &fills[next])
			}
		}
		for symbol := range held {
			h := &held[symbol]
			if h.at < 0 {
				continue
			}
			p := &out.List[h.at]
			p.Last = h.quantity * (g.Marks[symbol][k] - h.average)
			p.WorstLoss = max(p.WorstLoss, -p.Last)
			out.OpenLoss[k] -= p.Last
		}
	}
	return out
}

// stepOf is the step in which the candle of a symbol closes that opens at a time or later.
func (g *Grid) stepOf(symbol int, open market.Time) int {
	i := g.Run.Candles[symbol].Search(open)
	if i >= len(g.Steps[symbol]) {
		return len(g.Curve.Equity) - 1
	}
	return g.Steps[symbol][i]
}

// book takes one fill into the holding of its symbol.
func (p *Positions) book(g *Grid, h *holding, symbol, step int, f *market.Fill) {
	price, amount, after := Float(f.Price), Float(f.Quantity), Float(f.PositionAfter)
	if f.Side == market.Sell {
		amount = -amount
	}
	if h.at >= 0 && h.quantity*amount < 0 { // it makes the position smaller, or ends it
		if after*h.quantity > 0 {
			h.quantity = after
			return
		}
		p.List[h.at].Leave = step
		*h = holding{at: -1}
		amount = after // what is left over opens another one
	}
	if amount == 0 || after == 0 {
		return
	}
	if h.at < 0 {
		p.List = append(p.List,
			Position{Symbol: symbol, Enter: step, Leave: -1, Equity: g.Curve.Equity[max(step-1, 0)]})
		*h = holding{at: len(p.List) - 1}
	}
	h.enlarge(&p.List[h.at], f.OrderID, price, amount, after)
}

// enlarge makes the holding larger by an order, or by a further part of it.
func (h *holding) enlarge(p *Position, order market.OrderID, price, amount, after float64) {
	if h.orders == 0 || order != h.order {
		h.orders++
		h.order = order
		if h.orders > 1 {
			p.Adds++
			if (price-h.average)*amount < 0 {
				p.Losing++
			}
		}
	}
	size := magnitude(after)
	if h.orders == 1 {
		p.First = size
	}
	p.Largest = max(p.Largest, size)
	before := magnitude(after - amount)
	h.average = (float64(before*h.average) + float64(magnitude(amount)*price)) / size
	h.quantity = after
}

func magnitude(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}
