package deflate_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/deflate"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// The numerical examples of both papers, to the digits that they printed.
func TestPublishedDeflation(t *testing.T) {
	sr := 2.5 / math.Sqrt(250)
	d, why := deflate.DSR2014(sr, 1250, sharpe.Shape{Skew: -3, Kurt: 10},
		deflate.Trials{Variance: .5 / 250, N: 100})
	if why != "" {
		t.Fatal(why)
	}
	near(t, "2014 benchmark", d.Benchmark, .1132, 5e-5)
	near(t, "2014 probability", d.Probability, .9004, 5e-5)
	d, _, why = deflate.DSR2025(
		.036/.079,
		24,
		sharpe.Shape{Skew: -2.448, Kurt: 10.164},
		deflate.Trials{Variance: .1, N: 10},
		0,
	)
	if why != "" {
		t.Fatal(why)
	}
	near(t, "2025 benchmark", d.Benchmark, .498, 5e-4)
	near(t, "2025 probability", d.Probability, .416, 5e-4)
}

// With one trial nothing is deflated, whatever the variance.
func TestOneTrial(t *testing.T) {
	f := sharpe.Shape{Skew: -3, Kurt: 10}
	want, _ := sharpe.PSR2012(.1, 0, 500, f)
	d, why := deflate.DSR2014(.1, 500, f, deflate.Trials{Variance: 7, N: 1})
	if d.Benchmark != 0 || d.Probability != want || why != "" {
		t.Error(d, want, why)
	}
	want, _ = sharpe.PSR2025(.1, 0, 500, f)
	d, unscaled, why := deflate.DSR2025(.1, 500, f, deflate.Trials{Variance: 7, N: 1}, .4)
	if d.Probability != want || unscaled != want || why != "" {
		t.Error(d, unscaled, want, why)
	}
}

// More trials, or trials that vary more, never make a ratio more credible.
func TestDeflationOnlyTakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, v := rapid.Float64Range(1.33, 1e5).Draw(t, "n"), rapid.Float64Range(0, .01).Draw(t, "variance")
		sr, f := rapid.Float64Range(-.1, .3).Draw(t, "sr"), sharpe.Shape{Kurt: 3}
		few, _ := deflate.DSR2014(sr, 1000, f, deflate.Trials{Variance: v, N: n})
		for _, worse := range []deflate.Trials{{Variance: v, N: 2 * n}, {Variance: 2 * v, N: n}} {
			d, why := deflate.DSR2014(sr, 1000, f, worse)
			if why != "" || d.Probability > few.Probability || d.Benchmark < few.Benchmark {
				t.Fatalf("%+v, then %+v %s", few, d, why)
			}
		}
	})
}

func TestTrialsOf(t *testing.T) {
	trials, why := deflate.TrialsOf([]float64{.1, .2, .6}, 1)
	if near(t, "variance", trials.Variance, .07, 1e-15); trials.N != 3 || why != "" {
		t.Error(trials, why)
	}
	if trials, why := deflate.TrialsOf([]float64{.4}, 1); trials != (deflate.Trials{Variance: 0, N: 1}) ||
		why != "" {
		t.Error(trials, why)
	}
	if _, why := deflate.TrialsOf(nil, 1); why != stat.TooFewReturns {
		t.Error(why)
	}
}

func TestUndefinedDeflation(t *testing.T) {
	f := sharpe.Shape{Kurt: 3}
	for _, trials := range []deflate.Trials{{Variance: -1, N: 5}, {Variance: .1, N: .5},
		{Variance: math.NaN(), N: 5}} {
		if _, why := deflate.DSR2014(.1, 100, f, trials); why != stat.NotApplicable {
			t.Errorf("%+v: %q", trials, why)
		}
		if _, _, why := deflate.DSR2025(.1, 100, f, trials, 0); why != stat.NotApplicable {
			t.Errorf("%+v: %q", trials, why)
		}
	}
	if _, _, why := deflate.DSR2025(
		.1,
		0,
		f,
		deflate.Trials{Variance: .1, N: 5},
		0,
	); why != stat.NotApplicable {
		t.Error(why)
	}
}

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

// Lopez de Prado, Lipton and Zoonekynd (2025), to the digits that they printed.
func TestPublishedDiscovery(t *testing.T) {
	planned, why := deflate.PlannedFDR(.05, .05, .315)
	if near(t, "planned", planned, .581, 5e-4); why != "" {
		t.Error(why)
	}
	observed, why := deflate.ObservedFDR(.05, .036/.079, 0, .5, 24, sharpe.Shape{Skew: -2.448, Kurt: 10.164})
	if near(t, "observed", observed, .306, 5e-4); why != "" {
		t.Error(why)
	}
}

func TestDiscoveryAtTheEnds(t *testing.T) {
	f := sharpe.Shape{Kurt: 3}
	for p, want := range map[float64]float64{0: 1, 1: 0} {
		planned, why := deflate.PlannedFDR(p, .05, .2)
		if near(t, "planned", planned, want, 0); why != "" {
			t.Error(why)
		}
		observed, why := deflate.ObservedFDR(p, .1, 0, .2, 100, f)
		if near(t, "observed", observed, want, 0); why != "" {
			t.Error(why)
		}
	}
	if _, why := deflate.PlannedFDR(1, .05, 1); why != stat.NotApplicable {
		t.Error(why)
	}
	if _, why := deflate.ObservedFDR(.5, 1e6, 0, .2, 100, f); why != stat.NotApplicable {
		t.Error("impossible under both:", why)
	}
	impossible := sharpe.Shape{Skew: 4, Kurt: 3}
	if _, why := deflate.ObservedFDR(.5, .1, 0, .5, 100, impossible); why != stat.NotApplicable {
		t.Error(why)
	}
}

func TestMinBacktestLength(t *testing.T) {
	// "No more than 45 configurations for five years": Bailey et al. (2014).
	b, why := deflate.MinBacktestLength(45, 1)
	if near(t, "years", b.Years, 5, .01); why != "" || b.UpperBound < b.Years {
		t.Error(b, why)
	}
	if b, why := deflate.MinBacktestLength(1, 2); b != (deflate.BacktestLength{}) || why != "" {
		t.Error(b, why)
	}
	for _, c := range [][2]float64{{.5, 1}, {10, 0}, {10, -1}, {10, 1e-200}} {
		if _, why := deflate.MinBacktestLength(c[0], c[1]); why != stat.NotApplicable {
			t.Errorf("%v: %q", c, why)
		}
	}
}
