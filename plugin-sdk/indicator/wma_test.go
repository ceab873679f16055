package indicator

import (
	"math"
	"math/big"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/markcheno/go-talib"
)

func TestWMAByHand(t *testing.T) {
	nan := math.NaN()
	three := NewWMA(3)
	seq(t, &three, []float64{1, 2, 6, 4}, []float64{nan, nan, (1 + 4 + 18) / 6.0, (2 + 12 + 12) / 6.0})
	one := NewWMA(1)
	seq(t, &one, []float64{1, 0.1, 1e9}, []float64{1, 0.1, 1e9})
}

func TestWMAAgainstTALib(t *testing.T) {
	onSamples(t, func(t *testing.T, candles []market.Candle) {
		in := column(candles, closeOf)
		for _, n := range periods() {
			want := talib.Wma(in, n)
			w := NewWMA(n)
			for i, x := range in {
				w.Add(x)
				ready(t, "WMA", &w, i, n-1)
				near(t, "WMA", i, w.Value(), want[i], 1e-9)
			}
		}
	})
}

func TestWMADoesNotDrift(t *testing.T) {
	const n, length = 150, 1_000_000
	in := column(walk(6, length, 1e7), closeOf)
	w := NewWMA(n)
	for i, x := range in {
		w.Add(x)
		if i >= n && i%9973 == 0 || i == length-1 {
			if want := exactWeightedSum(in[i-n+1:i+1]) / (n * (n + 1) / 2); w.Value() != want {
				t.Fatalf("candle %d: %.17g, want exactly %.17g", i, w.Value(), want)
			}
		}
	}
}

func exactWeightedSum(xs []float64) float64 {
	total := new(big.Float).SetPrec(2400)
	for k, x := range xs {
		weight := new(big.Float).SetInt64(int64(k + 1))
		total.Add(total, weight.SetPrec(200).Mul(weight, new(big.Float).SetFloat64(x)))
	}
	f, _ := total.Float64()
	return f
}
