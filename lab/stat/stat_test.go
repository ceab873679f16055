package stat_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestSumLosesNothing(t *testing.T) {
	near(t, "large and small", stat.Sum([]float64{1e16, 1, -1e16, 1}), 2, 0)
	near(t, "tenths", stat.Sum([]float64{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1}), 1, 0)
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 200).Draw(t, "x")
		exact := new(big.Float).SetPrec(2000)
		for _, v := range x {
			exact.Add(exact, new(big.Float).SetFloat64(v))
		}
		want, _ := exact.Float64()
		if got := stat.Sum(x); math.Abs(got-want) > 1e-9*math.Abs(want)+1e-15 {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestMeanAndDeviations(t *testing.T) {
	near(t, "mean of nothing", stat.Mean(nil), 0, 0)
	near(t, "mean", stat.Mean([]float64{1, 2, 6}), 3, 0)
	near(t, "dot", stat.Dot([]float64{1, 2}, []float64{3, -4}), -5, 0)
	e := stat.Deviations([]float64{1, 2, 6})
	if len(e) != 3 || e[0] != -2 || e[1] != -1 || e[2] != 3 {
		t.Error(e)
	}
	if !stat.AllEqual(nil) || !stat.AllEqual([]float64{2, 2}) || stat.AllEqual([]float64{2, 2, 3}) {
		t.Error("AllEqual")
	}
}

func TestMoments(t *testing.T) {
	// By hand: mean 5, sum of squares 32; third powers add up to 42, fourth to 356.
	x := []float64{2, 4, 4, 4, 5, 5, 7, 9}
	m, why := stat.Of(x)
	if why != "" || m.N != 8 {
		t.Fatal(m, why)
	}
	near(t, "mean", m.Mean, 5, 0)
	near(t, "sd", m.SD, math.Sqrt(32.0/7), 1e-15)
	near(t, "skew", m.Skew, 42.0/8/8, 1e-15)
	near(t, "kurtosis", m.Kurt, 356.0/8/16, 1e-15)
}

func TestUndefinedMoments(t *testing.T) {
	for _, c := range []struct {
		x   []float64
		why stat.Reason
	}{
		{nil, stat.TooFewReturns},
		{[]float64{1}, stat.TooFewReturns},
		// The mean of these is not 0.1, so that a computed variance is not 0.
		{[]float64{.1, .1, .1, .1, .1, .1, .1}, stat.ZeroVariance},
		{[]float64{1e-200, 2e-200, 4e-200}, stat.NotApplicable},
		{[]float64{1e200, -2e200, 4e200}, stat.NotApplicable},
		{[]float64{math.MaxFloat64, math.MaxFloat64, -1}, stat.NotApplicable},
	} {
		if m, why := stat.Of(c.x); why != c.why {
			t.Errorf("%v: %+v %q, want %q", c.x, m, why, c.why)
		}
	}
}

// Whatever the sample: kurt >= skew^2 + 1, and neither depends on scale and place.
func TestShapeOfMoments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-1, 1), 2, 50).Draw(t, "x")
		m, why := stat.Of(x)
		if why != "" || m.SD < 1e-6 {
			return
		}
		if m.Kurt < m.Skew*m.Skew+1-1e-6 {
			t.Fatalf("%+v", m)
		}
		y := make([]float64, len(x))
		for i := range x {
			y[i] = 4*x[i] + 8
		}
		if o, _ := stat.Of(y); math.Abs(o.Skew-m.Skew) > 1e-4 || math.Abs(o.Kurt-m.Kurt) > 1e-3*m.Kurt ||
			math.Abs(o.SD-4*m.SD) > 1e-9 {
			t.Fatalf("%+v became %+v", m, o)
		}
	})
}

func TestVariance(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		ddof int
		want float64
		why  stat.Reason
	}{
		{[]float64{1, 2, 6}, 1, 7, ""},
		{[]float64{1, 2, 6}, 0, 14.0 / 3, ""},
		{[]float64{.1, .1, .1}, 1, 0, ""},
		{[]float64{1}, 1, 0, stat.TooFewReturns},
		{nil, 0, 0, stat.TooFewReturns},
	} {
		v, why := stat.Variance(c.x, c.ddof)
		if why != c.why {
			t.Errorf("%v: %q", c.x, why)
		}
		near(t, "variance", v, c.want, 1e-15)
	}
}

func TestAutocovariances(t *testing.T) {
	// Deviations -2, -1, 0, 1, 2.
	c := stat.Autocovariances([]float64{1, 2, 3, 4, 5}, 9)
	want := []float64{10.0 / 5, 4.0 / 5, -1.0 / 5, -4.0 / 5, -4.0 / 5}
	if len(c) != len(want) {
		t.Fatal(c)
	}
	for i := range c {
		near(t, "autocovariance", c[i], want[i], 1e-15)
	}
}

func TestLag1(t *testing.T) {
	rho, why := stat.Lag1([]float64{1, 2, 3, 4, 5})
	if near(t, "rho", rho, 0.4, 1e-15); why != "" {
		t.Error(why)
	}
	if _, why := stat.Lag1([]float64{1, 2}); why != stat.TooFewReturns {
		t.Error(why)
	}
	if _, why := stat.Lag1([]float64{3, 3, 3}); why != stat.ZeroVariance {
		t.Error(why)
	}
	if _, why := stat.Lag1([]float64{1e-200, 0, 0}); why != stat.NotApplicable {
		t.Error(why)
	}
}

func TestOrderIndex(t *testing.T) {
	for _, c := range []struct {
		q    float64
		b    int
		want int
	}{
		{.95, 999, 949}, {.025, 999, 24}, {.975, 999, 974}, {.9, 40, 35}, {0, 10, 0}, {1, 10, 9},
		{.001, 10, 0},
		// 0.55 * 100 is 55.00000000000001 in floats.
		{.55, 100, 54}, {.07, 100, 6}, {.5, 3, 1},
	} {
		if got := stat.OrderIndex(c.q, c.b); got != c.want {
			t.Errorf("%v of %d: %d, want %d", c.q, c.b, got, c.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	x := []float64{5, 1, 4, 2, 3}
	for q, want := range map[float64]float64{.2: 1, .21: 2, .5: 3, 1: 5} {
		if got, why := stat.Quantile(x, q); got != want || why != "" {
			t.Errorf("%v: %v %s", q, got, why)
		}
	}
	if x[0] != 5 {
		t.Error("the sample was sorted")
	}
	if _, why := stat.Quantile(nil, .5); why != stat.TooFewReturns {
		t.Error(why)
	}
}

func TestResampledP(t *testing.T) {
	near(t, "none", stat.ResampledP(0, 999), .001, 0)
	near(t, "all", stat.ResampledP(999, 999), 1, 0)
	near(t, "smallest", stat.SmallestP(199), .005, 0)
}
