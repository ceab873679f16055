package indicator

import (
	"math"
	"slices"
	"testing"
)

// The heaps hold what a sorted window does, after many replacements and with equal values.
func TestQuantileAgainstSorting(t *testing.T) {
	in := column(walk(12, 3000, 100), closeOf)
	for i := range in[:1000] {
		in[i] = math.Round(in[i]*2) / 2
	}
	for _, n := range append(periods(), 1) {
		for _, q := range []float64{0, 0.1, 0.5, 1} {
			quantile := NewQuantile(n, q)
			for i, x := range in {
				quantile.Add(x)
				ready(t, "Quantile", &quantile, i, n-1)
				if i < n-1 || i%7 != 0 {
					continue
				}
				last := slices.Sorted(slices.Values(in[i-n+1 : i+1]))
				place := q * float64(n-1)
				under, over := last[int(place)], last[min(int(place)+1, n-1)]
				want := under + float64((over-under)*(place-math.Floor(place)))
				if quantile.Value() != want {
					t.Fatalf("n %d, q %g, candle %d: %g, want %g", n, q, i, quantile.Value(), want)
				}
			}
		}
	}
}

// Large quiet prices, as for StdDev: a line, and two that move together, are told as such.
func TestStatisticsOfLargeQuietValues(t *testing.T) {
	const n = 50
	l, c, z := NewLinearRegression(n), NewCorrelation(n), NewZScore(n)
	for i := range 200_000 {
		x := 1e9 + float64(0.25*float64(i%1000))
		l.Add(x)
		c.Add(x, -2*x)
		z.Add(x)
		if i%1000 < n || i < n {
			continue
		}
		near(t, "slope", i, l.Slope(), 0.25, 1e-12)
		near(t, "R2", i, l.R2(), 1, 1e-12)
		near(t, "value", i, l.Value(), x, 1e-15)
		near(t, "correlation", i, c.Value(), -1, 1e-12)
		near(t, "z-score", i, z.Value(), (n-1)/2.0/math.Sqrt((n*n-1)/12.0), 1e-12)
	}
}

func TestStatisticsOfEqualValues(t *testing.T) {
	l, c, z := NewLinearRegression(5), NewCorrelation(5), NewZScore(5)
	b, v := NewBeta(5), NewRealizedVolatility(5, 1)
	for i := range 30 {
		x := 97123.45
		if i < 5 {
			x = float64(100 + i)
		}
		l.Add(x)
		c.Add(x, float64(i))
		z.Add(x)
		b.Add(float64(i+1), x)
		v.Add(x)
		if i >= 11 && (l.Value() != x || l.Slope() != 0 || l.R2() != 0 || c.Value() != 0 || z.Value() != 0 ||
			b.Value() != 0 || v.Value() != 0) {
			t.Fatalf("value %d: %g %g %g %g %g %g %g", i, l.Value(), l.Slope(), l.R2(), c.Value(), z.Value(),
				b.Value(), v.Value())
		}
	}
}

func TestLogarithm(t *testing.T) {
	for _, x := range []float64{1e-300, 0.1, 0.5, 0.7071, 1, 1 + 0x1p-52, 2, math.E, 97123.45, 1e140} {
		want := math.Log(x)
		if got := logarithm(x); math.Abs(got-want) > 0x1p-52*math.Abs(want) {
			t.Errorf("of %g: %.17g, want %.17g", x, got, want)
		}
	}
	for _, x := range []float64{0, -1, math.NaN()} {
		if got := logarithm(x); !math.IsNaN(got) {
			t.Errorf("of %g: %g", x, got)
		}
	}
}
