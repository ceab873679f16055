package stat_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
)

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
		if o, _ := stat.Of(y); math.Abs(o.Skew-m.Skew) > 1e-4 || math.Abs(o.Kurt-m.Kurt) > 1e-3*m.Kurt || math.Abs(o.SD-4*m.SD) > 1e-9 {
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
