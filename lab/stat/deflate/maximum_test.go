package deflate_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/deflate"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Two and three normals have closed forms.
func TestExactMaximum(t *testing.T) {
	for n, want := range map[float64]deflate.Maximum{
		1: {Mean: 0, SD: 1},
		2: {Mean: 1 / math.Sqrt(math.Pi), SD: math.Sqrt(1 - 1/math.Pi)},
		3: {Mean: 1.5 / math.Sqrt(math.Pi), SD: math.Sqrt(1 + math.Sqrt(3)/(2*math.Pi) - 9/(4*math.Pi))},
	} {
		m, why := deflate.ExactMax(n)
		if why != "" {
			t.Fatal(why)
		}
		near(t, "mean", m.Mean, want.Mean, 1e-13)
		near(t, "sd", m.SD, want.SD, 1e-13)
	}
	// Order statistics tables print 2.50759 and 0.42942 for 100.
	m, _ := deflate.ExactMax(100)
	near(t, "mean of 100", m.Mean, 2.50759, 5e-6)
	near(t, "sd of 100", m.SD, 0.42942, 5e-5)
}

// The median of the maximum is known exactly, and the mean lies a little above it, up to
// the largest N.
func TestExactMaximumOfMany(t *testing.T) {
	for n := 10.0; n <= deflate.MostTrials; n *= 100 {
		m, why := deflate.ExactMax(n)
		median := stat.UpperZ(-math.Expm1(-math.Ln2 / n))
		if why != "" || !(m.Mean > median && m.Mean < median+.2*m.SD+.02) {
			t.Errorf("%v: mean %v, median %v, sd %v %s", n, m.Mean, median, m.SD, why)
		}
	}
}

func TestMaximumRises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Float64Range(1, 1e6).Draw(t, "n")
		more := n * rapid.Float64Range(1.01, 10).Draw(t, "factor")
		a, _ := deflate.ExactMax(n)
		b, _ := deflate.ExactMax(more)
		if b.Mean <= a.Mean || b.SD >= a.SD || a.Mean < 0 {
			t.Fatalf("%v: %+v, %v: %+v", n, a, more, b)
		}
		x, _ := deflate.ExpectedMax(n)
		y, _ := deflate.ExpectedMax(more)
		if n > 1 && y <= x || n > 1.33 && x < 0 {
			t.Fatalf("%v: %v, %v: %v", n, x, more, y)
		}
	})
}

func TestExpectedMax(t *testing.T) {
	one, why := deflate.ExpectedMax(1)
	if near(t, "of one", one, 0, 0); why != "" {
		t.Error(why)
	}
	// The formula as it is printed, also where it makes no sense.
	barely, _ := deflate.ExpectedMax(1.1)
	near(t, "of hardly more than one", barely, -.318, 5e-4)
	ten, _ := deflate.ExpectedMax(10)
	exact, _ := deflate.ExactMax(10)
	near(t, "overstatement at 10", ten/exact.Mean, 1.0233, 1e-3)
	for _, n := range []float64{0.99, 0, -1, math.NaN(), math.Inf(1)} {
		if _, why := deflate.ExpectedMax(n); why != stat.NotApplicable {
			t.Errorf("%v: %q", n, why)
		}
		if _, why := deflate.ExactMax(n); why != stat.NotApplicable {
			t.Errorf("%v: %q", n, why)
		}
	}
}
