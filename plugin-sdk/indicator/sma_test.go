package indicator

import (
	"math"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/markcheno/go-talib"
)

func TestSMAByHand(t *testing.T) {
	nan := math.NaN()
	three := NewSMA(3)
	seq(t, &three, []float64{1, 2, 6, 4, -1}, []float64{nan, nan, 3, 4, 3})
	one := NewSMA(1)
	seq(t, &one, []float64{1, 0.1, 1e9}, []float64{1, 0.1, 1e9})
}

func TestSMAAgainstTALib(t *testing.T) {
	onSamples(t, func(t *testing.T, candles []market.Candle) {
		in := column(candles, closeOf)
		for _, n := range periods() {
			want := talib.Sma(in, n)
			s := NewSMA(n)
			for i, x := range in {
				s.Add(x)
				ready(t, "SMA", &s, i, n-1)
				near(t, "SMA", i, s.Value(), want[i], 1e-9)
			}
		}
	})
}

// A million candles on, the value is still the correctly rounded sum over n.
func TestSMADoesNotDrift(t *testing.T) {
	const n, length = 200, 1_000_000
	in := column(walk(5, length, 1e7), closeOf)
	s := NewSMA(n)
	for i, x := range in {
		s.Add(x)
		if i >= n && i%9973 == 0 || i == length-1 {
			if want := exactSum(in[i-n+1:i+1]) / n; s.Value() != want {
				t.Fatalf("candle %d: %.17g, want exactly %.17g", i, s.Value(), want)
			}
		}
	}
}
