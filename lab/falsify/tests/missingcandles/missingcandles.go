// Package missingcandles is the test missing_candles: candles with gaps. One test, one folder.
package missingcandles

import (
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/replay"
)

// ID names the test.
const ID = "missing_candles"

var entry = judge.Entry{
	Number: 10, ID: ID, Version: 1, Class: judge.Warning,
	Claim:  "it copes with missing candles",
	Method: "10 series: 1 % left out, and a hole of 24 hours",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	list, plays := b.PlanSeries("gaps", b.Profile.Gaps, replay.Gaps)
	return battery.After(plays, func() *battery.Finding {
		return battery.Spread(Judge(&b.Judge, list), list)
	})
}

// Judge judges missing_candles. A strategy that crashes on a gap is refuted: there will
// be gaps.
func Judge(j *judge.Judge, list []judge.Replay) *judge.Test {
	t := j.Begin(entry, len(list), map[string]any{"keep": j.Policy.Keep})
	if n := judge.CountFailed(list); n > 0 && !judge.AnyBroken(list) {
		t.Class = judge.Gate
		t.Measure("median_sharpe_ratio", nil, "", ">=", nil)
		return t.Endf(judge.Fail, judge.PluginFailed, "the program failed on %d of %d series", n, len(list))
	}
	if j.Unready(t, list) {
		return t
	}
	return j.Kept(t, judge.Ratios(list), 0)
}
