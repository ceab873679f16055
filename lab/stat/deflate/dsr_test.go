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
	d, why := deflate.DSR2014(sr, 1250, sharpe.Shape{Skew: -3, Kurt: 10}, deflate.Trials{Variance: .5 / 250, N: 100})
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

// With one trial nothing is deflated, whatever the variance says.
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
		sr, f := rapid.Float64Range(-.1, .3).Draw(t, "sr"), sharpe.Normal()
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
	if trials, why := deflate.TrialsOf([]float64{.4}, 1); trials != (deflate.Trials{Variance: 0, N: 1}) || why != "" {
		t.Error(trials, why)
	}
	if _, why := deflate.TrialsOf(nil, 1); why != stat.TooFewReturns {
		t.Error(why)
	}
}

func TestUndefinedDeflation(t *testing.T) {
	f := sharpe.Normal()
	for _, trials := range []deflate.Trials{{Variance: -1, N: 5}, {Variance: .1, N: .5}, {Variance: math.NaN(), N: 5}} {
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
