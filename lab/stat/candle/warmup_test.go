package candle_test

import (
	"math"
	"testing"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/candle"
)

func TestEMA(t *testing.T) {
	if e := candle.EMA([]float64{10, 13, 16}, 2); math.Abs(e-(16*2+12)/3.0) > 1e-12 {
		t.Error(e)
	}
	if e := candle.EMA(nil, 3); e != 0 {
		t.Error(e)
	}
}

// The memory of an EMA fades by (period-1)/(period+1) a candle.
func TestWarmUpFades(t *testing.T) {
	prices := make([]float64, 200)
	for i := range prices {
		prices[i] = 100
	}
	prices[150] = 200
	full := candle.EMA(prices, 20)
	if whole, why := candle.WarmUpError(prices, 20, 199, full); whole != 0 || why != "" {
		t.Error(whole, why)
	}
	// Begun at the spike, its whole weight is carried along.
	begun, _ := candle.WarmUpError(prices, 20, 49, full)
	fade := math.Pow(19.0/21, 49)
	if want := (100 + 100*fade - full) / full; math.Abs(begun-want) > 1e-12 {
		t.Error(begun, want)
	}
	if _, why := candle.WarmUpError([]float64{0, 0}, 20, 1, 0); why != stat.NotApplicable {
		t.Error(why)
	}
}
