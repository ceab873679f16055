package main

import (
	"fmt"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/tests/paramneighbourhood"
	"github.com/assay-run/assay/lab/falsify/tests/permutedcandles"
	"github.com/assay-run/assay/lab/falsify/tests/randomentry"
	"github.com/assay-run/assay/lab/falsify/tests/selectionbias"
	"github.com/assay-run/assay/lab/stat"
)

// bound is a rate with the bound that docs/calibration.md holds it to.
type bound struct {
	rate
	what, bound string
	met         bool
	few         bool // only the limit is not met, as with few cases
	// note stands for met where nothing is asked.
	note string
}

// The bounds.
const (
	noisePass, noiseUpper       = 0.05, 0.10
	selectionPass, edgeSurvives = 0.70, 0.60
	falseAlarm, falseAlarmAlpha = 0.05, 0.01
	boundSharpe                 = 3
)

// bounds are all of them over what was found.
func (c *calibration) bounds() []bound {
	var list []bound
	for _, trials := range plannedFamilies() {
		r := c.count(func(s *setting) bool { return s.isNoise() && s.Free && s.Trials == trials }, passes)
		list = append(list, bound{
			rate: r, what: fmt.Sprintf("noise with overall `pass`, zero costs, best of %d", trials),
			bound: "<= 5 %, upper limit <= 10 %",
			met:   r.value() <= noisePass && r.high <= noiseUpper, few: r.value() <= noisePass,
		})
	}
	all := c.count(func(s *setting) bool { return s.isNoise() && s.Free }, passes)
	list = append(list, bound{
		rate: all, what: "noise with overall `pass`, zero costs, all families",
		bound: "<= 5 %, upper limit <= 10 %",
		met:   all.value() <= noisePass && all.high <= noiseUpper, few: all.value() <= noisePass,
	})
	for _, id := range []string{randomentry.ID, permutedcandles.ID} {
		for _, free := range []bool{true, false} {
			list = append(list, c.alone(id, free))
		}
	}
	for _, ratio := range []float64{1, 2, boundSharpe} {
		of := func(s *setting) bool { return s.Sharpe == ratio }
		chosen := c.count(of, func(v *verdict) bool { return v.of(selectionbias.ID).Verdict == judge.Pass })
		survives := c.count(of, func(v *verdict) bool { return passes(v) || v.Overall == judge.Warn })
		one := bound{rate: chosen,
			what:  fmt.Sprintf("planted, Sharpe ratio %g, N = 10, selection_bias `pass`", ratio),
			bound: ">= 70 %", met: chosen.value() >= selectionPass}
		two := bound{rate: survives,
			what:  fmt.Sprintf("planted, Sharpe ratio %g, N = 10, overall `pass` or `warn`", ratio),
			bound: ">= 60 %", met: survives.value() >= edgeSurvives}
		if ratio != boundSharpe {
			one.bound, two.bound, one.note, two.note = "none", "none", "published", "published"
		}
		list = append(list, one, two)
	}
	list = append(list, c.neighbours()...)
	for _, name := range cheatNames() {
		r := c.count(func(s *setting) bool {
			return s.Strategy == name
		}, func(v *verdict) bool { return v.Overall == judge.Fail })
		list = append(list,
			bound{rate: r, what: "cheat " + name + " refuted", bound: "100 %", met: r.n > 0 && r.k == r.n})
	}
	return list
}

// neighbours are how often param_neighbourhood is wrong of an edge whose neighbours are
// edges, and right of noise whose neighbours are other noise. No page asks for them.
func (c *calibration) neighbours() []bound {
	fails := func(v *verdict) bool { return v.of(paramneighbourhood.ID).Verdict == judge.Fail }
	edge := c.count(func(s *setting) bool { return s.Sharpe == boundSharpe }, fails)
	knife := c.count(func(s *setting) bool { return s.Strategy == numberedName }, fails)
	return []bound{
		{rate: edge, what: "planted, Sharpe ratio 3, param_neighbourhood `fail`", bound: "<= 5 %",
			met: edge.value() <= noisePass},
		{rate: knife, what: "noise of numbered coins, best of 10, param_neighbourhood `fail`", bound: "none",
			note: "published"},
	}
}

func passes(v *verdict) bool { return v.Overall == judge.Pass }

// alone returns how often one test with a p-value passes noise without selection.
func (c *calibration) alone(id string, free bool) bound {
	k, n := 0, 0
	for at, s := range c.Settings {
		if !s.isNoise() || s.Trials != 1 || s.Free != free || s.Sample {
			continue
		}
		for _, v := range c.Verdicts[at] {
			if p := v.of(id).PValue; p != nil {
				if n++; *p <= falseAlarm {
					k++
				}
			}
		}
	}
	costs := "default costs"
	if free {
		costs = "zero costs"
	}
	least, most := binomialInterval(n, falseAlarm, falseAlarmAlpha)
	return bound{
		rate: rateOf(k, n), what: fmt.Sprintf("%s alone, p <= 0.05 of noise, %s", id, costs),
		bound: fmt.Sprintf("%d to %d of %d (99 %% interval around 5 %%)", least, most, n),
		met:   k >= least && k <= most,
	}
}

// count returns how many cases of some settings are so.
func (c *calibration) count(of func(*setting) bool, so func(*verdict) bool) rate {
	k, n := 0, 0
	for at, s := range c.Settings {
		if !of(s) {
			continue
		}
		for _, v := range c.Verdicts[at] {
			if n++; so(v) {
				k++
			}
		}
	}
	return rateOf(k, n)
}

// Rate is K of N cases with their exact limits.
type rate struct {
	k, n      int
	low, high float64
}

// rateOf has 95 % limits.
func rateOf(k, n int) rate {
	low, high := clopperPearson(k, n, 0.05)
	return rate{k, n, low, high}
}

func (r rate) value() float64 {
	if r.n == 0 {
		return 0
	}
	return float64(r.k) / float64(r.n)
}

// clopperPearson are the exact two-sided limits of a probability of which k of n were
// seen, at 1 - alpha. Source: Clopper and Pearson 1934, by quantiles of the beta
// distribution, which are found by halving.
func clopperPearson(k, n int, alpha float64) (low, high float64) {
	low, high = 0, 1
	if k > 0 {
		low = betaQuantile(float64(k), float64(n-k+1), alpha/2)
	}
	if k < n {
		high = betaQuantile(float64(k+1), float64(n-k), 1-alpha/2)
	}
	return low, high
}

func betaQuantile(a, b, p float64) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		x := (low + high) / 2
		if stat.IncompleteBeta(a, b, x, 1-x) < p {
			low = x
		} else {
			high = x
		}
	}
	return (low + high) / 2
}

// binomialInterval are the fewest and the most of n cases that are not too few and not
// too many for a probability p, each side at alpha/2.
func binomialInterval(n int, p, alpha float64) (least, most int) {
	// P(X <= k) = I_(1-p)(n-k, k+1), Abramowitz and Stegun 26.5.24.
	atMost := func(k int) float64 {
		if k >= n {
			return 1
		}
		return stat.IncompleteBeta(float64(n-k), float64(k+1), 1-p, p)
	}
	for least < n && atMost(least) <= alpha/2 {
		least++
	}
	for most < n && atMost(most) < 1-alpha/2 {
		most++
	}
	return least, most
}
