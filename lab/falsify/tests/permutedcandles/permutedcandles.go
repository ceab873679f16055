// Package permutedcandles is the test permuted_candles: train candles whose moves are
// shuffled. One test, one folder.
package permutedcandles

import (
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
)

// ID names the test.
const ID = "permuted_candles"

var entry = judge.Entry{
	Number: 16, ID: ID, Version: 2, Class: judge.Gate,
	Claim:  "it earns by patterns, not by drift alone",
	Method: "the strategy on shuffled train candles",
	Holm:   true,
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

func plan(b *battery.Bench) (battery.Check, error) {
	var train *request.Replayed
	set := b.CutTrain()
	list := make([]judge.Replay, b.Profile.Permutations())
	plays := []*battery.Play{{Part: b.Train, How: request.Replay{ID: split.RoleTrain, Drive: battery.Quick},
		Done: func(r *request.Replayed) error {
			train = r
			return nil
		}}}
	for i := range list {
		plays = append(plays, b.PlanChanged("permuted", i, &list[i], b.Train, func() (replay.Set, error) {
			out, _ := replay.Permute(set, b.Seed, uint64(i))
			return out, nil
		}))
	}
	return battery.After(plays, func() *battery.Finding {
		own := battery.RowOf("train", 0, train)
		f := battery.Spread(Judge(&b.Judge, own.Sharpe, own.Trades, set.Joint(), list), list)
		f.Beside, f.On = &own, split.RoleTrain
		return f
	})
}

// Judge judges permuted_candles. base is the Sharpe ratio on the train part as it was,
// trades its closed trades.
func Judge(j *judge.Judge, base *float64, trades int, joint bool, list []judge.Replay) *judge.Test {
	t := j.Begin(entry, len(list), j.Levels())
	t.Params["joint"] = joint
	if len(list) == 0 || judge.AnyBroken(list) {
		return judge.WithoutP(t, "").End(judge.Error, judge.HostError, "a replay could not be made")
	}
	own := judge.Judge{Base: j.Base, Policy: j.Policy}
	own.Base.Sharpe, own.Base.Trades, own.Base.Undefined = base, trades, stat.NotApplicable
	if own.TooLittle(t) {
		return judge.WithoutP(t, stat.Insufficient)
	}
	return own.ByChance(t, judge.Ratios(list), list)
}
