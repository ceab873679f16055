package trade

import (
	"math"
	"slices"

	"github.com/assay-run/assay/lab/stat"
)

// MostOrdered is how many trades Orderings takes: 9! = 362,880 orders.
const MostOrdered = 9

// sameDrawdown is the distance below which two drawdowns are one: sums of the same
// trades in different order differ by rounding.
const sameDrawdown = 1e-12

// Count is a drawdown and the number of orders that have it.
type Count struct {
	Drawdown float64
	Orders   int
}

// Ordered is the distribution of the largest drawdown, a fraction of the peak, over all
// orders of the trades. Equal trades are told apart, so that N is a factorial.
type Ordered struct {
	N                        int
	Observed, Min, Max, Mean float64
	Counts                   []Count // ascending
	// FinalEquity is the same for every order.
	FinalEquity float64
}

// Orderings takes the profits of at most MostOrdered trades in money and the equity
// before the first, above 0.
func Orderings(trades []float64, start float64) Ordered {
	out := Ordered{Observed: pathDrawdown(trades, start), FinalEquity: start + stat.Sum(trades)}
	var all []float64
	order := slices.Clone(trades)
	var permute func(k int)
	permute = func(k int) {
		if k == len(order) {
			all = append(all, pathDrawdown(order, start))
			return
		}
		for i := k; i < len(order); i++ {
			order[k], order[i] = order[i], order[k]
			permute(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	permute(0)
	slices.Sort(all)
	out.N, out.Min, out.Max, out.Mean = len(all), all[0], all[len(all)-1], stat.Mean(all)
	for _, d := range all {
		last := len(out.Counts) - 1
		if last >= 0 && d-out.Counts[last].Drawdown <= sameDrawdown*math.Max(1, d) {
			out.Counts[last].Orders++
			continue
		}
		out.Counts = append(out.Counts, Count{d, 1})
	}
	return out
}

func pathDrawdown(trades []float64, start float64) float64 {
	equity, peak, most := start, start, 0.0
	for _, t := range trades {
		equity += t
		peak = max(peak, equity)
		most = max(most, (peak-equity)/peak)
	}
	return most
}
