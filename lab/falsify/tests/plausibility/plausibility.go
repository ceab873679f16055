// Package plausibility is the test plausibility: whether the result is too good to be true.
// One test, one folder.
package plausibility

import (
	"math"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/stat"
)

// ID names the test.
const ID = "plausibility"

var entry = judge.Entry{
	Number: 24, ID: ID, Version: 1, Class: judge.Gate,
	Claim: "its result is not too good to be true",
	Method: "lower 99 % bound of the annual Sharpe ratio, at most 0.15 times the root of 365 or, if more, " +
		"of the trades a year",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	return battery.Own(func() (*battery.Finding, error) {
		return &battery.Finding{Test: Judge(&b.Judge)}, nil
	})
}

// plausibleConfidence is that of the bound, one-sided; daysOfYear is the fewest bets a year
// that the limit is for.
const (
	plausibleConfidence = 0.99
	plausibleZ          = 2.3263478740408408 // its quantile of the standard normal distribution
	daysOfYear          = 365
)

// Judge judges plausibility: skill of a given size per bet makes an annual Sharpe ratio
// that grows with the root of the number of bets, and not beyond it. A ratio that is surely
// higher comes of something else, such as prices that the program has inside. Few trades do
// not excuse it.
func Judge(j *judge.Judge) *judge.Test {
	b, p := j.Base, j.Policy
	t := j.Begin(entry, 0, map[string]any{"plausible_sharpe": p.PlausibleSharpe})
	t.Params["confidence"] = plausibleConfidence
	if b.Sharpe == nil || b.StandardError == nil || !(b.Years > 0) {
		t.Measure("sharpe_ratio_low", nil, b.Undefined, "<=", nil)
		if !j.TooLittle(t) {
			t.End(judge.Inconclusive, string(stat.NotApplicable),
				"the Sharpe ratio of the run has no standard error")
		}
		return t
	}
	trades := float64(b.Trades) / b.Years
	limit := p.PlausibleSharpe * math.Sqrt(max(daysOfYear, trades))
	low := *b.Sharpe - float64(plausibleZ**b.StandardError)
	t.Params["sharpe_ratio"], t.Params["standard_error"] = judge.Rounded(b.Sharpe),
		judge.Rounded(b.StandardError)
	t.Params["trades_per_year"] = judge.Rounded(&trades)
	t.Measure("sharpe_ratio_low", &low, "", "<=", &limit)
	switch {
	case low > limit:
		return t.Endf(judge.Fail, judge.TooGood, "the annual Sharpe ratio is %s, surely above %s, and with "+
			"%.0f trades a year no more than %s is believed: look for prices, or a model of them, inside "+
			"the program",
			judge.TwoDigits(*b.Sharpe), judge.TwoDigits(low), trades, judge.TwoDigits(limit))
	case j.TooLittle(t):
		return t
	}
	return j.Capped(t.End(judge.Pass, "", ""))
}
