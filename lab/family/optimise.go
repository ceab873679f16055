package family

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
)

// Optimised is the search as it would have been lived through: at each window the trial
// that was best in training is played on the test that follows.
type Optimised struct {
	Windows []Choice `json:"windows"`
	// Metrics are metrics-v1 over the tests of the chosen trials as one series, null
	// without one; Meta says how they are to be read.
	Metrics *metric.Values `json:"metrics"`
	Meta    *metric.Meta   `json:"metrics_meta"`
	// Efficiency is the mean test objective over the mean training objective. It is
	// information only.
	Efficiency *float64               `json:"efficiency"`
	Undefined  map[string]stat.Reason `json:"undefined"`
}

// Choice is one window. ChosenTrial is null where no trial has a training objective.
type Choice struct {
	SplitID        string   `json:"split_id"`
	ChosenTrial    *int     `json:"chosen_trial"`
	TrainObjective *float64 `json:"train_objective"`
	TestObjective  *float64 `json:"test_objective"`
	// Undefined has the reasons of what is null.
	Undefined map[string]stat.Reason `json:"undefined"`
}

// The reasons of this package.
const (
	// ReasonNoTrial: no trial has an objective.
	ReasonNoTrial stat.Reason = "no_trial"
	// ReasonNondeterministic: a trial that was played again has decided otherwise.
	ReasonNondeterministic stat.Reason = "nondeterministic"
	// ReasonAborted: the stop rule has ended the family.
	ReasonAborted stat.Reason = "aborted"
)

// optimise finds the choices. The tests of the chosen trials are played again, because a
// compact trial keeps the equity of each day's end only; decisions that are not those of
// the stored trial leave the metrics undefined.
func (s *Search) optimise(ctx context.Context, trials []*Trial) (*Optimised, error) {
	out := &Optimised{Windows: []Choice{}, Undefined: map[string]stat.Reason{}}
	var plays []evaluate.Replay
	var hashes []string
	for k, r := range s.testRanges() {
		c := Choice{SplitID: r.ID, Undefined: map[string]stat.Reason{"chosen_trial": ReasonNoTrial, "train_objective": ReasonNoTrial, "test_objective": ReasonNoTrial}}
		if best := s.bestInTraining(trials, k); best != nil {
			w := best.Windows[k]
			c.ChosenTrial, c.TrainObjective, c.TestObjective, c.Undefined = &best.Index, w.Train, w.Test, w.Undefined
			params, err := s.fullParams(best.Index)
			if err != nil {
				return nil, err
			}
			plays = append(plays, evaluate.Replay{ID: r.ID, From: r.From, To: r.To, Params: params, Drive: run.Drive{Procs: 1}})
			hashes = append(hashes, w.DecisionHash)
		}
		out.Windows = append(out.Windows, c)
	}
	out.efficiency()
	if len(plays) == 0 {
		out.Undefined["metrics"] = ReasonNoTrial
		return out, nil
	}
	inputs := make([]metric.Input, len(plays))
	same := true
	err := s.whole.Replay(ctx, s.root, plays, evaluate.ReplayOptions{Plain: true, Done: func(i int, r *evaluate.Replayed) error {
		same = same && r.Failure == nil && r.Results != nil && r.Results.DecisionHash == hashes[i]
		inputs[i] = r.Input
		return nil
	}})
	switch {
	case err != nil:
		return nil, fmt.Errorf("walk_forward_optimised: %w", err)
	case !same:
		out.Undefined["metrics"] = ReasonNondeterministic
		return out, nil
	}
	whole, err := evaluate.Stitched(inputs)
	if err != nil {
		return nil, err
	}
	out.Metrics, out.Meta = &whole.Metrics, &whole.Meta
	return out, nil
}

// testRanges are the tests of the walk-forward, in order.
func (s *Search) testRanges() []artifact.SplitRange {
	var list []artifact.SplitRange
	for _, r := range s.root.Manifest.Splits.Splits {
		if r.Role == split.RoleWalkForward {
			list = append(list, r)
		}
	}
	return list
}

// bestInTraining is the trial with the best objective in training for window k, nil if
// none has one; ties go to the lower index.
func (s *Search) bestInTraining(trials []*Trial, k int) *Trial {
	var best *Trial
	for _, t := range trials {
		if t.Status == Failed || k >= len(t.Windows) || t.Windows[k].Train == nil {
			continue
		}
		if best == nil || s.better(*t.Windows[k].Train, *best.Windows[k].Train) {
			best = t
		}
	}
	return best
}

// fullParams are the parameters of a trial as its request has them, defaults filled in.
func (s *Search) fullParams(index int) (json.RawMessage, error) {
	p, err := s.trial(index, s.Windows)
	if err != nil {
		return nil, err
	}
	return p.Manifest.Request.StrategyParams, nil
}

func (o *Optimised) efficiency() {
	var train, test []float64
	for _, w := range o.Windows {
		if w.TrainObjective != nil && w.TestObjective != nil {
			train, test = append(train, *w.TrainObjective), append(test, *w.TestObjective)
		}
	}
	if len(train) == 0 {
		o.Undefined["efficiency"] = ReasonNoTrial
		if slices.ContainsFunc(o.Windows, func(w Choice) bool { return w.ChosenTrial != nil }) {
			o.Undefined["efficiency"] = stat.Insufficient // no window has enough to judge the chosen one on
		}
		return
	}
	// A share of something that is not above 0 says nothing.
	share, why := 0.0, stat.NotApplicable
	if in := stat.Mean(train); in > 0 {
		share, why = stat.Finite(stat.Mean(test) / in)
	}
	if why != "" {
		o.Undefined["efficiency"] = why
		return
	}
	share = metric.Round(share)
	o.Efficiency = &share
}
