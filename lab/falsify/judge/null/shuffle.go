package null

import (
	"slices"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/lab/stat/trade"
)

// ruinous is the drawdown whose probability Drawdowns has. It is policy.
const ruinous = 0.5

// Drawdowns is the distribution of the largest drawdown, a fraction of the peak, over
// random orders of the trades.
type Drawdowns struct {
	Orders        int
	Observed      float64
	P50, P95, P99 float64
	// Half is the share of the orders with a drawdown of 50 % or more.
	Half float64
}

// ShuffleTrades plays the closed trades in random orders. A trade changes the equity by
// the share by which it did, its profit over the equity before it: in money, the large
// trades of a grown account would ruin the small one that it began with. The reason is
// NoTrades. Stream: trade_shuffle.
func ShuffleTrades(r *Run, seed uint64, orders int) (*Drawdowns, stat.Reason, error) {
	g, err := newGrid(r)
	if err != nil {
		return nil, "", err
	}
	factors := g.factors()
	if len(factors) == 0 || orders < 1 {
		return nil, stat.NoTrades, nil
	}
	out := &Drawdowns{Orders: orders, Observed: compounded(factors)}
	all, half := make([]float64, orders), 0
	shuffled := make([]float64, len(factors))
	for i := range all {
		copy(shuffled, factors)
		random.New(seed, random.TradeShuffle, uint64(i)).Shuffle(len(shuffled), func(a, b int) {
			shuffled[a], shuffled[b] = shuffled[b], shuffled[a]
		})
		all[i] = compounded(shuffled)
		if all[i] >= ruinous {
			half++
		}
	}
	out.Half = float64(half) / float64(orders)
	slices.Sort(all)
	out.P50, out.P95, out.P99 = all[stat.OrderIndex(.5, orders)], all[stat.OrderIndex(.95, orders)], all[stat.OrderIndex(.99, orders)]
	return out, "", nil
}

// compounded is the largest drawdown of the account that the factors make.
func compounded(factors []float64) float64 {
	equity := make([]float64, len(factors)+1)
	equity[0] = 1
	for i, f := range factors {
		equity[i+1] = equity[i] * f
	}
	return trade.MaxDrawdown(equity)
}
