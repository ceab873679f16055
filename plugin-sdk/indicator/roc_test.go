package indicator

import (
	"math"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/markcheno/go-talib"
)

func TestROCByHand(t *testing.T) {
	nan := math.NaN()
	r := NewROC(2)
	seq(t, &r, []float64{100, 0, 150, 7, 75}, []float64{nan, nan, 50, 0, -50})
}

func TestROCAgainstTALib(t *testing.T) {
	onSamples(t, func(t *testing.T, candles []market.Candle) {
		in := column(candles, closeOf)
		for _, n := range append(periods(), 1) {
			want := talib.Roc(in, n)
			r := NewROC(n)
			for i, x := range in {
				r.Add(x)
				ready(t, "ROC", &r, i, n)
				if r.Value() != want[i] {
					t.Fatalf("n %d, candle %d: %.17g, want %.17g", n, i, r.Value(), want[i])
				}
			}
		}
	})
}
