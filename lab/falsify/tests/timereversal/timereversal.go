// Package timereversal is the test time_reversal: the moves in the opposite order. One test,
// one folder.
package timereversal

import (
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/stat"
)

// ID names the test.
const ID = "time_reversal"

var entry = judge.Entry{
	Number: 21, ID: ID, Version: 1, Class: judge.Description,
	Claim:  "it depends on the direction of time",
	Method: "returns in reverse order; a real edge may survive",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	list := make([]judge.Replay, 1)
	plays := []*battery.Play{b.PlanChanged("reversed", 0, &list[0], b.Search,
		func() (replay.Set, error) { return replay.Reverse(b.Source.Set), nil })}
	return battery.After(plays, func() *battery.Finding {
		return battery.Spread(Judge(&b.Judge, list[0]), list)
	})
}

// Judge describes time_reversal.
func Judge(j *judge.Judge, r judge.Replay) *judge.Test {
	t := j.Begin(entry, 1, nil)
	t.Measure("sharpe_ratio", r.Sharpe, stat.NotApplicable, ">", nil)
	switch {
	case r.Status == judge.Broken:
		return t.End(judge.Error, judge.HostError, "the replay could not be made")
	case r.Status == judge.Failed:
		return t.End(judge.Fail, judge.PluginFailed, "the program failed on reversed returns")
	case r.Sharpe == nil:
		return t.End(judge.Inconclusive, string(stat.NotApplicable),
			"there is no Sharpe ratio on reversed returns")
	}
	return t.End(judge.Pass, "", "on reversed returns the Sharpe ratio is "+judge.TwoDigits(*r.Sharpe))
}
