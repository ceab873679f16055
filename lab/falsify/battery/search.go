package battery

import (
	"context"
	"encoding/json"

	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/split"
)

// Plan is the search that the base was selected by.
type Plan struct {
	// Metric is what the plan optimises; Minimise says that less is better.
	Metric   string
	Minimise bool
	// Params are all parameters of each trial.
	Params []json.RawMessage
}

// objective is what the plan makes of a replay, larger being better; nil where it has no
// value.
func (p *Plan) objective(r *evaluate.Replayed) *float64 {
	if r.Failure != nil || r.Results == nil {
		return nil
	}
	x := get(r, p.Metric)
	if x != nil && p.Minimise {
		*x = -*x
	}
	return x
}

// better is the larger of two objectives of which either may be missing.
func better(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// permutedSelection makes the whole plan on permuted train candles: what the search finds
// where there is nothing to be found.
func (b *bench) permutedSelection() (check, error) {
	if !b.Profile.Full {
		return check{skip: judge.OnlyWithFull}, nil
	}
	if b.Plan == nil {
		return check{skip: judge.NotDeclared}, nil
	}
	set, best := b.trainSet(), make([]*float64, b.Profile.Selections)
	var real *float64
	var plays []*play
	for _, params := range b.Plan.Params {
		how := evaluate.Replay{ID: split.RoleTrain, Params: params, Drive: quick}
		plays = append(plays, &play{part: b.Train, how: how, done: func(r *evaluate.Replayed) error {
			real = better(real, b.Plan.objective(r))
			return nil
		}})
		for i := range best {
			plays = append(plays, &play{part: b.Train, how: how, on: func() (replay.Set, error) {
				out, _ := replay.Permute(set, b.Seed, uint64(i))
				return out, nil
			}, done: func(r *evaluate.Replayed) error {
				best[i] = better(best[i], b.Plan.objective(r))
				return nil
			}})
		}
	}
	return check{plays: plays, judge: func(context.Context) (*finding, error) {
		var list []judge.Replay
		for i, x := range best {
			list = append(list, judge.Replay{Variant: "permuted", Replica: i, Status: judge.Completed, Sharpe: x})
		}
		f := b.spread(b.judge.PermutedPlan(real, best), list)
		f.on = split.RoleTrain
		f.Params["trials"] = len(b.Plan.Params)
		return f, nil
	}}, nil
}
