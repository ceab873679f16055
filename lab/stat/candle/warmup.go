package candle

import "github.com/assay-run/assay/lab/stat"

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
