package indicator

import (
	"math"
	"math/big"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/markcheno/go-talib"
)

func TestStdDevByHand(t *testing.T) {
	nan := math.NaN()
	s := NewStdDev(4)
	seq(t, &s, []float64{2, 4, 4, 6, 6, 8}, []float64{nan, nan, nan, math.Sqrt(2), 1, math.Sqrt(2)})
	one := NewStdDev(1)
	seq(t, &one, []float64{0.1, 0.7}, []float64{0, 0})
}

// TA-Lib subtracts two large sums in float64 and calls a variance below 1e-14 zero, so it
// is itself good to seven digits only.
func TestStdDevAgainstTALib(t *testing.T) {
	onSamples(t, func(t *testing.T, candles []market.Candle) {
		in := column(candles, closeOf)
		for _, n := range periods() {
			want := talib.StdDev(in, n, 1)
			s := NewStdDev(n)
			for i, x := range in {
				s.Add(x)
				ready(t, "StdDev", &s, i, n-1)
				near(t, "variance", i, s.Value()*s.Value(), want[i]*want[i], 1e-7)
			}
		}
	})
}

// exactStdDev goes over the values twice with 300 bits.
func exactStdDev(xs []float64) float64 {
	wide := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	n := wide(float64(len(xs)))
	mean := wide(0)
	for _, x := range xs {
		mean.Add(mean, wide(x))
	}
	mean.Quo(mean, n)
	squares := wide(0)
	for _, x := range xs {
		d := wide(x)
		d.Sub(d, mean)
		squares.Add(squares, d.Mul(d, d))
	}
	f, _ := squares.Sqrt(squares.Quo(squares, n)).Float64()
	return f
}

// Prices that are enormous beside their movement leave nothing in a float64 sum of
// squares, and a million candles add up whatever error there is.
func TestStdDevDoesNotDrift(t *testing.T) {
	const n, length = 100, 1_000_000
	moves := column(walk(8, length, 100), closeOf)
	for _, offset := range []float64{0, 1e6, 1e9} {
		in := make([]float64, length)
		s := NewStdDev(n)
		for i, x := range moves {
			in[i] = x + offset
			s.Add(in[i])
			if i >= n && i%19937 == 0 || i == length-1 {
				want := exactStdDev(in[i-n+1 : i+1])
				if math.Abs(s.Value()-want) > 1e-9*want {
					t.Fatalf("offset %g, candle %d: %.17g, want %.17g", offset, i, s.Value(), want)
				}
			}
		}
	}
}

func TestStdDevOfEqualValuesIsZero(t *testing.T) {
	s := NewStdDev(7)
	for i, c := range walk(4, 5000, 97123.45) {
		if i%50 < 20 {
			c.Close = 97123.45
		}
		s.Add(c.Close)
		if i%50 >= 6 && i%50 < 20 && s.Value() != 0 {
			t.Fatalf("candle %d: %g over equal values, want 0", i, s.Value())
		}
		if i%50 == 20 && c.Close != 97123.45 && !(s.Value() > 0) {
			t.Fatalf("candle %d: %g after a move", i, s.Value())
		}
	}
}

func TestBollingerAgainstTALib(t *testing.T) {
	onSamples(t, func(t *testing.T, candles []market.Candle) {
		in := column(candles, closeOf)
		upper, middle, lower := talib.BBands(in, 20, 2, 2, talib.SMA)
		b := NewBollinger(20, 2)
		for i, x := range in {
			b.Add(x)
			for _, l := range []Line{&b, b.UpperLine(), b.LowerLine()} {
				ready(t, "Bollinger", l, i, 19)
			}
			if i >= 19 {
				near(t, "upper", i, b.Upper(), upper[i], 1e-7)
				near(t, "middle", i, b.Middle(), middle[i], 1e-9)
				near(t, "lower", i, b.Lower(), lower[i], 1e-7)
			}
		}
	})
}

// The middle band is the SMA and the distance the StdDev of this package.
func TestBollingerIsBuiltFromItsParts(t *testing.T) {
	average, deviation, b := NewSMA(20), NewStdDev(20), NewBollinger(20, 2.5)
	for i, c := range walk(2, 500, 100) {
		average.Add(c.Close)
		deviation.Add(c.Close)
		b.Add(c.Close)
		reach := float64(2.5 * deviation.Value())
		if b.Middle() != average.Value() || b.Upper() != average.Value()+reach ||
			b.Lower() != average.Value()-reach {
			t.Fatalf("candle %d: %g %g %g", i, b.Upper(), b.Middle(), b.Lower())
		}
	}
}
