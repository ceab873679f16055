package bootstrap_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/random"
)

func TestMeanInterval(t *testing.T) {
	x := ar(3, 200, 0)
	plan := bootstrap.Plan{Seed: 1, B: 999, MeanBlock: 2}
	i, why := bootstrap.MeanInterval(x, plan, .95)
	if why != "" {
		t.Fatal(why)
	}
	means := bootstrap.Resample(x, plan, stat.Mean)
	slices.Sort(means)
	if i.Value != stat.Mean(x) || i.Low != means[24] || i.High != means[974] || i.SmallestP != .001 {
		t.Errorf("%+v, between %v and %v", i, means[24], means[974])
	}
	if wider, _ := bootstrap.MeanInterval(x, plan, .99); !(wider.Low < i.Low && wider.High > i.High) || wider.P != i.P {
		t.Errorf("%+v is not wider than %+v", wider, i)
	}
}

// The p-value is small when the mean is far from 0, and what is drawn does not depend on
// the sign.
func TestPOfAMean(t *testing.T) {
	x := ar(3, 200, 0)
	for i := range x {
		x[i] += 1
	}
	i, _ := bootstrap.MeanInterval(x, bootstrap.Plan{Seed: 1, B: 199, MeanBlock: 2}, .95)
	if i.P != i.SmallestP || i.Low <= 0 {
		t.Errorf("%+v", i)
	}
	for k := range x {
		x[k] = -x[k]
	}
	if o, _ := bootstrap.MeanInterval(x, bootstrap.Plan{Seed: 1, B: 199, MeanBlock: 2}, .95); o.P != i.P || o.Value != -i.Value {
		t.Errorf("%+v and %+v", i, o)
	}
}

// Under the hypothesis the p-value is uniform: about every tenth is below a tenth.
func TestPUnderTheHypothesis(t *testing.T) {
	small := 0
	const trials = 300
	for k := range uint64(trials) {
		s := random.New(k, random.Noise, 1)
		x := make([]float64, 60)
		for i := range x {
			x[i] = s.Normal()
		}
		if i, _ := bootstrap.MeanInterval(x, bootstrap.Plan{Seed: k, B: 99, MeanBlock: 1}, .9); i.P <= .1 {
			small++
		}
	}
	near(t, "share", float64(small)/trials, .1, .06)
}

func TestNoInterval(t *testing.T) {
	plan := bootstrap.Plan{B: 9, MeanBlock: 1}
	for _, c := range []struct {
		x    []float64
		plan bootstrap.Plan
		why  stat.Reason
	}{
		{[]float64{1}, plan, stat.TooFewReturns}, {[]float64{1, 2}, bootstrap.Plan{}, stat.TooFewReturns},
		{[]float64{1, 1}, plan, stat.ZeroVariance}, {[]float64{1e308, 1.7e308, 1.7e308}, plan, stat.NotApplicable},
	} {
		if i, why := bootstrap.MeanInterval(c.x, c.plan, .95); why != c.why {
			t.Errorf("%v: %+v %q, want %q", c.x, i, why, c.why)
		}
	}
}

func TestIntervalsHoldTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-1, 1), 2, 20).Draw(t, "x")
		i, why := bootstrap.MeanInterval(x, bootstrap.Plan{Seed: rapid.Uint64().Draw(t, "seed"), B: 99, MeanBlock: 3}, .9)
		if why == "" && !(i.Low <= i.High && i.P > 0 && i.P <= 1 && i.Low >= slices.Min(x)-1e-12 && i.High <= slices.Max(x)+1e-12) {
			t.Fatalf("%+v", i)
		}
	})
}
