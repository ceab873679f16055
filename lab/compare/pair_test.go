package compare

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func daily() metric.Returns { return metric.Returns{Every: 24 * time.Hour} }

func noise(seed uint64, n int, mean, size float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 7))
	x := make([]float64, n)
	for i := range x {
		x[i] = mean + float64(size*(rng.Float64()-0.5))
	}
	return x
}

func paired(a, b []float64) Pair {
	p := newPair("run_x")
	p.compare(a, b, daily(), 1)
	return p
}

// TestPairByHand repeats what section 2 and 4 of lab-stats/1 say with a loop of its own.
func TestPairByHand(t *testing.T) {
	a, b := noise(1, 300, 0.002, 0.04), noise(2, 300, 0, 0.04)
	d := make([]float64, len(a))
	for i := range d {
		d[i] = a[i] - b[i]
	}
	block, _ := bootstrap.PolitisWhite(d)
	mean := stat.Mean(d)
	var means []float64
	extreme, wins := 0, 0
	for r := range replicas {
		s := random.New(1, random.Bootstrap, uint64(r))
		at := s.IntN(len(d))
		var sum, x, xx, y, yy float64
		for i := range d {
			if i > 0 {
				if at = (at + 1) % len(d); s.Float64() < 1/max(block.Stationary, 1) {
					at = s.IntN(len(d))
				}
			}
			sum += d[at]
			x, xx, y, yy = x+a[at], xx+a[at]*a[at], y+b[at], yy+b[at]*b[at]
		}
		n := float64(len(d))
		means = append(means, sum/n)
		if math.Abs(sum/n-mean) >= math.Abs(mean) {
			extreme++
		}
		if x/math.Sqrt(xx/n-x*x/n/n) > y/math.Sqrt(yy/n-y*y/n/n) {
			wins++
		}
	}
	low, _ := stat.Quantile(means, 0.025)
	high, _ := stat.Quantile(means, 0.975)
	p := paired(a, b)
	near := func(what string, got *float64, want float64) {
		if got == nil || math.Abs(*got-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("mean", p.MeanDifference, mean)
	near("low", &p.CI95[0], low)
	near("high", &p.CI95[1], high)
	near("p", p.P, float64(1+extreme)/(replicas+1))
	near("p_sharpe_better", p.PSharpeBetter, float64(wins)/replicas)
	near("mean_block", &p.Bootstrap.MeanBlock, max(block.Stationary, 1))
	if p.Days != 300 || p.SmallestP != 0.001 || len(p.Undefined) != 0 || p.Bootstrap.B != 999 ||
		p.Bootstrap.Seed != "1" || p.Bootstrap.Rule != "politis_white" {
		t.Errorf("%+v", p)
	}
}

// TestPairTurnedRound: the other way round everything is mirrored.
func TestPairTurnedRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(20, 80).Draw(t, "n")
		mean := 0.001 * float64(rapid.IntRange(-5, 5).Draw(t, "mean"))
		seed := rapid.Uint64().Draw(t, "seed") // the same noise twice would have no difference
		a, b := noise(seed, n, mean, 0.05), noise(seed+1, n, 0, 0.05)
		p, q := paired(a, b), paired(b, a)
		if *p.MeanDifference != -*q.MeanDifference || p.CI95[0] != -q.CI95[1] || *p.P != *q.P ||
			math.Abs(*p.PSharpeBetter+*q.PSharpeBetter-1) > 1e-9 {
			t.Fatalf("%+v\n%+v", p, q)
		}
		if (p.DaysNeeded == nil) == (q.DaysNeeded == nil) {
			t.Fatalf("both or neither are above 0: %+v, %+v", p.Undefined, q.Undefined)
		}
		if p.CI95[0] > p.CI95[1] || *p.P < p.SmallestP || *p.P > 1 {
			t.Fatalf("%+v", p)
		}
	})
}

// TestPairOfARealDifference and of none: a drift that is half as large as what the days
// move is found, a run compared with a copy of its own noise is not.
func TestPairOfARealDifference(t *testing.T) {
	base := noise(1, 400, 0, 0.02)
	better := make([]float64, len(base))
	for i, x := range noise(2, 400, 0.003, 0.004) {
		better[i] = base[i] + x
	}
	p := paired(better, base)
	if *p.P != p.SmallestP || p.CI95[0] <= 0.002 || *p.PSharpeBetter < 0.99 || *p.DaysNeeded > 10 {
		t.Errorf("%+v", p)
	}
	p = paired(noise(3, 400, 0, 0.02), base)
	if *p.P < 0.05 || p.CI95[0] >= 0 || p.CI95[1] <= 0 {
		t.Errorf("%+v", p)
	}
}

func TestPairUndefined(t *testing.T) {
	x := noise(1, 100, 0.001, 0.02)
	flat := make([]float64, 100)
	shifted := make([]float64, 100)
	for i := range shifted {
		shifted[i] = flat[i] + 0.25
	}
	for _, c := range []struct {
		what  string
		a, b  []float64
		names map[string]metric.Reason
	}{
		{"the same", x, x, map[string]metric.Reason{
			"ci95": "zero_variance", "p": "zero_variance", "p_sharpe_better": "zero_variance",
			"days_needed": "zero_variance", "bootstrap": "zero_variance",
		}},
		{"always as much more", shifted, flat, map[string]metric.Reason{
			"ci95": "zero_variance", "p": "zero_variance", "p_sharpe_better": "zero_variance",
			"days_needed": "zero_variance", "bootstrap": "zero_variance",
		}},
		{"one that never trades", flat, x,
			map[string]metric.Reason{"p_sharpe_better": "zero_variance",
				"days_needed": "sharpe_not_above_benchmark"}},
		{"too short for blocks", noise(1, 5, 0.05, 0.02), noise(2, 5, 0, 0.02), map[string]metric.Reason{
			"ci95": "too_few_returns", "p": "too_few_returns", "p_sharpe_better": "too_few_returns",
			"bootstrap": "too_few_returns",
		}},
		{"nothing in common", nil, nil, map[string]metric.Reason{
			"mean_difference": "too_few_returns", "ci95": "too_few_returns", "p": "too_few_returns",
			"p_sharpe_better": "too_few_returns",
			"days_needed":     "too_few_returns", "bootstrap": "too_few_returns",
		}},
	} {
		p := paired(c.a, c.b)
		if len(p.Undefined) != len(c.names) {
			t.Errorf("%s: %v, want %v", c.what, p.Undefined, c.names)
		}
		for name, why := range c.names {
			if p.Undefined[name] != why {
				t.Errorf("%s: %s is %q, want %q", c.what, name, p.Undefined[name], why)
			}
		}
		if (p.MeanDifference == nil) != (c.names["mean_difference"] != "") ||
			(p.CI95 == nil) != (c.names["ci95"] != "") ||
			(p.Bootstrap == nil) != (c.names["bootstrap"] != "") {
			t.Errorf("%s: %+v", c.what, p)
		}
	}
}

// TestCommonDays: days are paired by their date, not by their number, and what only one
// run has is left out.
func TestCommonDays(t *testing.T) {
	series := func(days ...int) metric.Returns {
		var r metric.Returns
		for i, d := range days {
			r.Time = append(r.Time, start+market.Time(d)*24*hour)
			r.Return = append(r.Return, float64(10*d+i))
		}
		return r
	}
	a, b := common(series(1, 2, 4, 5), series(2, 3, 4, 6))
	if len(a) != 2 || a[0] != 21 || b[0] != 20 || a[1] != 42 || b[1] != 42 {
		t.Errorf("%v, %v", a, b)
	}
	// Two windows that overlap on day 3: the first goes with the first.
	a, b = common(series(2, 3, 3, 4), series(3, 3, 4))
	if len(a) != 3 || a[0] != 31 || b[0] != 30 || a[1] != 32 || b[1] != 31 || a[2] != 43 || b[2] != 42 {
		t.Errorf("%v, %v", a, b)
	}
}

// TestRatioOrdersAsSharpeRatios, also where a sample has no spread.
func TestRatioOrdersAsSharpeRatios(t *testing.T) {
	of := func(x ...float64) float64 {
		var m moments
		for _, v := range x {
			m.add(v)
		}
		return m.ratio()
	}
	if of(0, 0) != 0 || !math.IsInf(of(1, 1), 1) || !math.IsInf(of(-1, -1), -1) || of(1, 3) != 2 ||
		of(-1, 1) != 0 {
		t.Errorf("%v %v %v %v", of(0, 0), of(1, 1), of(-1, -1), of(1, 3))
	}
}
