package trade

import (
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

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

// EMA is the last value of the exponential moving average of prices with the weight
// 2 / (period + 1), seeded with the first price; 0 without prices. The SDK's indicator
// is warmed up with a mean instead: this is the textbook recursion whose memory is
// measured here.
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
