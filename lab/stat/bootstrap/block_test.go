package bootstrap_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/random"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// ar is an autoregressive series of a stream.
func ar(seed uint64, n int, rho float64) []float64 {
	s := random.New(seed, random.Noise, 0)
	x := make([]float64, n)
	for i := range x {
		x[i] = s.Normal()
		if i > 0 {
			x[i] += rho * x[i-1]
		}
	}
	return x
}

func TestBlocksGrowWithDependence(t *testing.T) {
	last := 0.0
	for _, rho := range []float64{0, .3, .6, .9} {
		b, why := bootstrap.PolitisWhite(ar(1, 2000, rho))
		if why != "" || b.Stationary <= last {
			t.Errorf("rho %v: %+v after %v %s", rho, b, last, why)
		}
		// The circular bootstrap varies less, by the cube root of 3/2.
		near(t, "circular", b.Circular/b.Stationary, math.Cbrt(1.5), 1e-12)
		last = b.Stationary
	}
}

// The rule by hand, every step of it, on a series that is short enough to follow.
func TestPolitisWhiteByHand(t *testing.T) {
	x := []float64{1, 2, 3, 2, 1, 0, -1, -2, -1, 0, 1, 2, 3, 2, 1, 0}
	e := stat.Deviations(x)
	n := 16.0
	// 4 + 5 lags at most; the waves of the series stay above the bound, so all are used.
	const m = 9
	v, g := 0.0, 0.0
	for j := -m; j <= m; j++ {
		lag := max(j, -j)
		c := 0.0
		for i := lag; i < 16; i++ {
			c += e[i] * e[i-lag] / n
		}
		w := min(1, 2*(1-float64(lag)/m))
		v += w * c
		g += w * float64(lag) * c
	}
	want := math.Cbrt(g*g/(v*v)) * math.Cbrt(n)
	limit := math.Ceil(n / 3)
	b, why := bootstrap.PolitisWhite(x)
	if why != "" || b.Lags != m {
		t.Fatalf("%+v %s", b, why)
	}
	near(t, "block", b.Stationary, min(want, limit), 1e-9)
}

func TestNoBlockLength(t *testing.T) {
	for _, c := range []struct {
		x   []float64
		why stat.Reason
	}{
		{nil, stat.TooFewReturns}, {ar(1, 10, 0), stat.TooFewReturns}, {make([]float64, 20), stat.ZeroVariance},
	} {
		if _, why := bootstrap.PolitisWhite(c.x); why != c.why {
			t.Errorf("%v: %q", c.x, why)
		}
	}
}

// The block stays between nothing and the cap, does not care about scale, and is never
// anything but a number.
func TestBlockLengthIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-10, 10), 11, 80).Draw(t, "x")
		b, why := bootstrap.PolitisWhite(x)
		if why != "" {
			return
		}
		n := float64(len(x))
		if limit := math.Ceil(min(3*math.Sqrt(n), n/3)); !(b.Stationary >= 0 && b.Stationary <= limit && b.Circular <= limit && b.Circular >= b.Stationary) {
			t.Fatalf("%+v above %v", b, limit)
		}
		if b.Lags < 2 {
			t.Fatal(b.Lags)
		}
	})
}
