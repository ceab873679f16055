// Package buyandhold is the test buy_and_hold: the daily difference to holding the market at
// the same exposure. One test, one folder.
package buyandhold

import (
	"context"
	"fmt"
	"strings"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/null"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// ID names the test.
const ID = "buy_and_hold"

var entry = judge.Entry{
	Number: 17, ID: ID, Version: 2, Class: judge.Gate,
	Claim:  "it is better than holding",
	Method: "daily difference to holding at equal exposure, 95 % interval",
	Holm:   true,
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	return battery.Own(func(context.Context) (*battery.Finding, error) {
		bench, why, err := null.AgainstHolding(b.Run, b.Seed, b.Profile.Bootstrap)
		if err != nil {
			return nil, err
		}
		f := &battery.Finding{Test: Judge(&b.Judge, bench, why)}
		if bench != nil {
			f.Add(fileOf(bench))
		}
		return f, nil
	})
}

// Judge judges buy_and_hold by the interval of the mean difference; why is the reason
// that null.AgainstHolding gave. A bound no further from 0 than the returns of two equal
// runs may be from each other is 0: the rest of a long sum of rounded products is no
// difference.
func Judge(j *judge.Judge, b *null.Benchmark, why stat.Reason) *judge.Test {
	t := j.Begin(entry, 0, nil)
	t.Params["confidence"] = null.Confidence
	if why == "" && j.Base.Fills == 0 {
		why = stat.NoTrades
	}
	if why != "" {
		t.Measure("mean_difference", nil, why, ">", judge.Ptr(0))
		t.Undefine("p_value", why)
		return t.End(judge.Inconclusive, string(why), "there is nothing to compare")
	}
	t.Params["b"], t.Params["mean_block"], t.Params["exposure"] = b.B, judge.Rounded(&b.MeanBlock), judge.Rounded(&b.Exposure)
	t.Params["ci_low"], t.Params["ci_high"], t.Params["smallest_p"] = judge.Rounded(&b.Low), judge.Rounded(&b.High), b.SmallestP
	t.Measure("mean_difference", &b.Mean, "", ">", judge.Ptr(0))
	p, dust := b.P, j.Policy.SameReturn
	if b.Low >= -dust && b.High <= dust {
		p = 1 // there is nothing that chance would have to reach
	}
	t.PValue = judge.Rounded(&p)
	detail := fmt.Sprintf("the mean daily difference lies between %s and %s", tiny(b.Low), tiny(b.High))
	switch {
	case b.Low > dust:
		t.ByInterval(detail)
		t.End(judge.Pass, "", "")
	case b.High < -dust:
		t.End(judge.Fail, judge.BelowZero, detail)
	default:
		t.End(judge.Warn, judge.ContainsZero, detail)
	}
	return j.Capped(t)
}

func tiny(x float64) string { return fmt.Sprintf("%.3f %%", 100*x) }

// fileOf is benchmark.csv of buy_and_hold: a row per return of the main sample.
func fileOf(b *null.Benchmark) judge.File {
	s := judge.NewSheet(entry.ID, "benchmark.csv", "date", "strategy", "benchmark", "difference")
	for i := range b.Difference {
		s.Row(date(b.Time[i]), judge.Plain(b.Strategy[i]), judge.Plain(b.Holding[i]), judge.Plain(b.Difference[i]))
	}
	return s.File()
}

// date is the day of a return that ends with a day, else its time in full.
func date(t market.Time) string { return strings.TrimSuffix(t.String(), "T00:00:00.000Z") }
