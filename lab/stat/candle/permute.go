package candle

import "github.com/assay-run/assay/plugin-sdk/market"

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
