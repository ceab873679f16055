// Package trade holds statistics on closed trades, fills, the equity they make and the
// candles they are made on: drawdowns over all orders of the trades, ruin, the drawdowns of
// a curve, the costs that a strategy can bear and the size it can be traded at;
// the permutation that destroys every pattern of a price series and keeps its moves, and how
// far the start of a recursive indicator reaches. Money is in the quote
// currency, drawdowns are positive. It imports the market nouns and package stat.
package trade

import (
	"math"
	"slices"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
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

// Drawdowns are the deepest falls below a running peak, in money, one for every stretch
// between a peak and the next strictly higher one, in order of time, the last stretch
// included. Equal highs do not end a stretch.
func Drawdowns(equity []float64) []float64 {
	out := []float64{}
	if len(equity) == 0 {
		return out
	}
	peak, deepest := equity[0], 0.0
	for _, e := range equity[1:] {
		if e > peak {
			if deepest > 0 {
				out = append(out, deepest)
			}
			peak, deepest = e, 0
		}
		deepest = max(deepest, peak-e)
	}
	if deepest > 0 {
		out = append(out, deepest)
	}
	return out
}

// MaxDrawdown is the largest (peak - equity) / peak, a fraction; equity begins above 0.
func MaxDrawdown(equity []float64) float64 {
	most, peak := 0.0, 0.0
	for i, e := range equity {
		if i == 0 || e > peak {
			peak = e
		}
		most = max(most, (peak-e)/peak)
	}
	return most
}

// Ruin is the probability that a gambler who wins one unit with probability p, and else
// loses one, ever loses all of so many units: ((1-p)/p)^units, and 1 for p <= 1/2.
// Source: the classical ruin problem, Feller, volume 1, chapter XIV.
func Ruin(p, units float64) float64 {
	if p <= 0.5 {
		return 1
	}
	return math.Pow((1-p)/p, units)
}

// Basis points of a notional.
const basisPoints = 10_000

// NetPnL is the profit before costs less base basis points of the notional that was
// turned over.
func NetPnL(gross, turnover, baseBps float64) float64 {
	return gross - float64(turnover*baseBps/basisPoints)
}

// BreakEvenBps are the costs, in basis points of the turnover, that eat up the profit
// before costs. The reason is NoTrades without turnover.
func BreakEvenBps(gross, turnover float64) (float64, stat.Reason) {
	if turnover == 0 {
		return 0, stat.NoTrades
	}
	return stat.Finite(gross / turnover * basisPoints)
}

// Capacity is which share of the market's volume the fills would have been.
type Capacity struct {
	// Participation is quantity / volume of each fill; where nothing was traded in the
	// candle there is none, and Untradable has the index.
	Participation []float64
	Untradable    []int
	// Violations are the indices of the fills above the limit, ascending, with those of
	// Untradable among them.
	Violations []int
	// MaxScale is the factor on all quantities that brings the largest participation to
	// the limit; 0 when a fill is untradable.
	MaxScale       float64
	MaxScaleReason stat.Reason
}

// Participate compares quantities with the volumes of their candles, both in base units
// and not below 0; limit is a fraction. A quantity of 0 takes no part of any volume. The
// reason beside MaxScale is NoTrades when all are.
func Participate(quantities, volumes []float64, limit float64) Capacity {
	out := Capacity{Participation: make([]float64, len(quantities)), Violations: []int{}}
	largest := 0.0
	for i, q := range quantities {
		share := 0.0
		if q != 0 {
			share = q / volumes[i]
		}
		if math.IsInf(share, 1) {
			out.Untradable = append(out.Untradable, i)
		} else {
			out.Participation[i] = share
		}
		if share > limit {
			out.Violations = append(out.Violations, i)
		}
		largest = max(largest, share)
	}
	switch {
	case largest == 0:
		out.MaxScaleReason = stat.NoTrades
	case len(out.Untradable) == 0:
		out.MaxScale, out.MaxScaleReason = stat.Finite(limit / largest)
	}
	return out
}

// MeanImpact is what the market's reaction costs on the average unit of notional, as a fraction, by
// the square-root law: an order moves the price by volatility * sqrt(quantity / volume), both of
// its candle, and pays the whole move. The reason is NoTrades without notional, and NotApplicable
// where a volume is 0.
//
// Sources: Toth et al. (2011), "Anomalous price impact and the critical nature of liquidity in
// financial markets", whose factor is of the order of 1, as here; Almgren et al. (2005), "Direct
// estimation of equity market impact", find the exponent 3/5.
func MeanImpact(quantities, volumes, volatilities, notionals []float64) (float64, stat.Reason) {
	var cost, turnover stat.Accumulator
	for i, q := range quantities {
		if q == 0 {
			continue
		}
		if volumes[i] <= 0 {
			return 0, stat.NotApplicable
		}
		cost.Add(float64(notionals[i] * volatilities[i] * math.Sqrt(q/volumes[i])))
		turnover.Add(notionals[i])
	}
	if turnover.Value() == 0 {
		return 0, stat.NoTrades
	}
	return stat.Finite(cost.Value() / turnover.Value())
}

// Permute rearranges the moves of a price series. Of n candles the last n-1 have a gap,
// open over the close before, and a body, (high, low, close) over open with the volume;
// gap i of the result is gap gaps[i] of the candles, body i is bodies[i], counted from 0
// at the second candle. Both are permutations of 0 .. n-2. The first candle and all times
// stay. Only * and / are used, so every CPU agrees, and the last close is the old one but
// for rounding: the product of all moves does not change. Source: Masters (2018),
// Permutation and Randomization Tests for Trading System Development, bar permutation.
func Permute(candles []market.Candle, gaps, bodies []int) []market.Candle {
	out := make([]market.Candle, len(candles))
	copy(out, candles)
	for i := 1; i < len(candles); i++ {
		g, b := 1+gaps[i-1], 1+bodies[i-1]
		c := &out[i]
		c.Open = out[i-1].Close * (candles[g].Open / candles[g-1].Close)
		c.High = c.Open * (candles[b].High / candles[b].Open)
		c.Low = c.Open * (candles[b].Low / candles[b].Open)
		c.Close = c.Open * (candles[b].Close / candles[b].Open)
		c.Volume = candles[b].Volume
	}
	return out
}

// EMA is the last value of the exponential moving average of prices with the weight 2 / (period + 1),
// seeded with the first price; 0 without prices. The SDK's indicator is warmed up with a mean
// instead: this is the textbook recursion whose memory is measured here.
func EMA(prices []float64, period int) float64 {
	if len(prices) == 0 {
		return 0
	}
	weight := 2 / float64(period+1)
	e := prices[0]
	for _, p := range prices[1:] {
		e = float64(weight*p) + float64((1-weight)*e)
	}
	return e
}

// WarmUpError is the relative difference that the EMA of the last startup+1 prices has
// from full, the EMA of all of them. The reason is NotApplicable when full is 0. Source:
// the recursive analysis of freqtrade.
func WarmUpError(prices []float64, period, startup int, full float64) (float64, stat.Reason) {
	return stat.Finite((EMA(prices[len(prices)-startup-1:], period) - full) / full)
}
