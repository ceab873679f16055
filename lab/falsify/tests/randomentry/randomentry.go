// Package randomentry is the test random_entry: the holdings of the base at random times. One
// test, one folder.
package randomentry

import (
	"context"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/null"
	"github.com/assay-run/assay/lab/stat"
)

// ID names the test.
const ID = "random_entry"

var entry = judge.Entry{
	Number: 15, ID: ID, Version: 2, Class: judge.Gate,
	Claim:  "its timing is better than chance",
	Method: "the same holdings at random times (no plugin)",
	Holm:   true,
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

// plan puts the holdings of the base at random times.
func plan(b *battery.Bench) (battery.Check, error) {
	return battery.Own(func(context.Context) (*battery.Finding, error) {
		m, why, err := null.NewRandomEntry(b.Run)
		if err != nil {
			return nil, err
		}
		var ratios []*float64
		var list []judge.Replay
		if why == "" {
			for i, d := range m.Draw(b.Seed, b.Profile.Permutations()) {
				ratios = append(ratios, d.Sharpe)
				list = append(list, judge.Replay{
					Variant: "random", Replica: i, Status: judge.Completed, Sharpe: d.Sharpe, TotalReturn: &d.Return, MaxDrawdown: &d.MaxDrawdown,
					Trades: b.Judge.Base.Trades, NetPnL: judge.Plain(d.NetMoney),
				})
			}
		}
		return battery.Spread(Judge(&b.Judge, ratios, why), list), nil
	})
}

// Judge judges random_entry by the Sharpe ratios of the same holdings at random times;
// why is the reason that null.NewRandomEntry gave.
func Judge(j *judge.Judge, replicas []*float64, why stat.Reason) *judge.Test {
	t := j.Begin(entry, len(replicas), j.Levels())
	if j.TooLittle(t) {
		return judge.WithoutP(t, stat.Insufficient)
	}
	if why != "" {
		return judge.WithoutP(t, why).End(judge.Inconclusive, string(why), "its holdings cannot be placed at other times")
	}
	return j.ByChance(t, values(replicas), nil)
}

// values are ratios with 0 for what has none: nothing was traded.
func values(list []*float64) []float64 {
	out := make([]float64, len(list))
	for i, x := range list {
		if x != nil {
			out[i] = *x
		}
	}
	return out
}
