package family

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
)

func (s *Search) isBetter(a, b *float64) bool { return s.compareObjectives(a, b) < 0 }

// compareObjectives is negative where a is the better one; what is undefined is worse than anything.
func (s *Search) compareObjectives(a, b *float64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	case s.Plan.Objective.Direction == project.Minimise:
		return cmp.Compare(*a, *b)
	}
	return cmp.Compare(*b, *a)
}

// promoteTrials is which n trials of a rung go on, by objective over its windows, ties by index.
// One whose objective is undefined goes on only where there is room: on more windows it
// may have one. One that failed never does.
func (s *Search) promoteTrials(played []*Trial, n int) []int {
	list := which(played, func(t *Trial) bool { return t.Status == Completed })
	slices.SortStableFunc(list, func(a, b *Trial) int {
		return cmp.Or(s.compareObjectives(a.Objective, b.Objective), cmp.Compare(a.Index, b.Index))
	})
	var alive []int
	for _, t := range list[:min(n, len(list))] {
		alive = append(alive, t.Index)
	}
	slices.Sort(alive)
	return alive
}

func which(trials []*Trial, of func(*Trial) bool) []*Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t *Trial) bool { return !of(t) })
}

func (s *Search) rankTrials(trials []*Trial) {
	list := which(trials, func(t *Trial) bool { return t.Objective != nil })
	slices.SortStableFunc(list, func(a, b *Trial) int {
		return cmp.Or(cmp.Compare(len(b.Windows), len(a.Windows)),
			s.compareObjectives(a.Objective, b.Objective), cmp.Compare(a.Index, b.Index))
	})
	for i, t := range list {
		t.Rank = i + 1
	}
}

// finalists are the trials that may be selected: only objectives over the same windows
// can be compared, so pruned ones are none.
func finalists(trials []*Trial) []*Trial {
	return which(trials, func(t *Trial) bool { return t.Status == Completed && t.Objective != nil })
}

// locatePoints are the finalists in the unit cube of the space.
func (s *Search) locatePoints(list []*Trial) ([]selection.SurfacePoint, error) {
	out := make([]selection.SurfacePoint, len(list))
	for i, t := range list {
		at, err := s.Plan.Space.Position(t.Params)
		if err != nil {
			return nil, err
		}
		out[i] = selection.SurfacePoint{At: at, Objective: t.Objective}
	}
	return out, nil
}

// chooseTrial is the trial that the plan's rule selects among the finalists, nil if there is
// none. Ties go to the lower index.
func (s *Search) chooseTrial(list []*Trial, of map[int]*selection.Series) (*Trial, error) {
	score := func(t *Trial) *float64 { return t.Objective }
	sign := s.compareObjectives
	switch s.Plan.SelectionRule {
	case project.RulePlateau:
		score = func(t *Trial) *float64 { return t.Plateau }
	case project.RuleCPCV:
		if err := crossValidate(list, of); err != nil {
			return nil, err
		}
		score = func(t *Trial) *float64 { return t.CPCV }
		// a Sharpe ratio, whatever the objective is
		sign = func(a, b *float64) int { return cmp.Compare(*b, *a) }
	}
	var best *Trial
	for _, t := range list {
		if score(t) != nil && (best == nil || sign(score(t), score(best)) < 0) {
			best = t
		}
	}
	return best, nil
}

// crossValidate scores trials by combinatorial cross-validation over the matrix of their
// daily returns, with the defaults of the scheme cpcv (6 folds, 2 of them tested, no
// purge: nothing is fitted to a fold): in each of the 15 choices the trials are ranked by
// the Sharpe ratio on the test folds, and the score is the median of that ratio over the
// choices. So a trial that owes all to one stretch of time is not selected. Trials whose
// days are not those of the first one have no score.
func crossValidate(list []*Trial, of map[int]*selection.Series) error {
	if len(list) == 0 || of[list[0].Index] == nil {
		return nil
	}
	first := of[list[0].Index]
	none := 0
	scheme := split.Scheme{Scheme: split.CPCV, Purge: &none, Embargo: &none}
	choices, err := scheme.Folded(len(first.Return), 0)
	if err != nil {
		return nil // too few days: no trial has a score
	}
	for _, t := range list {
		if of[t.Index] == nil {
			continue
		}
		x, covers := of[t.Index].On(first)
		if !covers {
			continue
		}
		var ratios []float64
		for _, c := range choices {
			var test []float64
			for _, r := range c.Test {
				test = append(test, x.Return[r[0]:r[1]]...)
			}
			if m, why := stat.Of(test); why == "" {
				ratios = append(ratios, m.Mean/m.SD)
			}
		}
		if len(ratios) < len(choices) {
			continue
		}
		median, why := stat.Quantile(ratios, 0.5)
		if why == "" && !math.IsNaN(median) {
			median = metric.Round(median)
			t.CPCV = &median
		}
	}
	return nil
}

// Optimised is the search as it would have been lived through: at each window the trial
// that was best in training is played on the test that follows.
type Optimised struct {
	Windows []Choice `json:"windows"`
	// Metrics are metrics-v1 over the tests of the chosen trials as one series, null
	// without one; Meta is how they are to be read.
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
	// ReasonNondeterministic: a trial that was played again has decided differently.
	ReasonNondeterministic stat.Reason = "nondeterministic"
	// ReasonAborted: the stop rule has ended the family.
	ReasonAborted stat.Reason = "aborted"
)

// optimiseWindows finds the choices. The tests of the chosen trials are played again, because a
// compact trial keeps the equity of each day's end only; decisions that are not those of
// the stored trial leave the metrics undefined.
func (s *Search) optimiseWindows(ctx context.Context, trials []*Trial) (*Optimised, error) {
	out := &Optimised{Windows: []Choice{}, Undefined: map[string]stat.Reason{}}
	var plays []request.Replay
	var hashes []string
	for k, r := range s.listTests() {
		c := Choice{SplitID: r.ID,
			Undefined: map[string]stat.Reason{"chosen_trial": ReasonNoTrial, "train_objective": ReasonNoTrial,
				"test_objective": ReasonNoTrial}}
		if best := s.findBestInTraining(trials, k); best != nil {
			w := best.Windows[k]
			c.ChosenTrial, c.TrainObjective, c.TestObjective, c.Undefined = &best.Index, w.Train, w.Test,
				w.Undefined
			params, err := s.fillParams(best.Index)
			if err != nil {
				return nil, err
			}
			plays = append(plays,
				request.Replay{ID: r.ID, From: r.From, To: r.To, Params: params, Drive: run.Drive{Procs: 1},
					Books: true})
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
	err := s.whole.Replay(ctx, s.root, plays,
		request.ReplayOptions{Plain: true, Done: func(i int, r *request.Replayed) error {
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
	whole, err := request.Stitched(inputs)
	if err != nil {
		return nil, err
	}
	out.Metrics, out.Meta = &whole.Metrics, &whole.Meta
	return out, nil
}

func (s *Search) listTests() []artifact.SplitRange {
	var list []artifact.SplitRange
	for _, r := range s.root.Manifest.Splits.Splits {
		if r.Role == split.RoleWalkForward {
			list = append(list, r)
		}
	}
	return list
}

// findBestInTraining is the trial with the best objective in training for window k, nil if
// none has one; ties go to the lower index.
func (s *Search) findBestInTraining(trials []*Trial, k int) *Trial {
	var best *Trial
	for _, t := range trials {
		if t.Status == Failed || k >= len(t.Windows) || t.Windows[k].Train == nil {
			continue
		}
		if best == nil || s.isBetter(t.Windows[k].Train, best.Windows[k].Train) {
			best = t
		}
	}
	return best
}

// fillParams are the parameters of a trial as its request has them, defaults filled in.
func (s *Search) fillParams(index int) (json.RawMessage, error) {
	p, err := s.prepareTrial(index, s.Windows)
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
	// A share of something that is not above 0 has no meaning.
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

// Evaluate runs the selected parameters once as kind run, on all splits: the base of a
// falsification and of a candidate. Its validation split is contaminated: the parameters
// were chosen on candles that are part of it. It is executed once however often it is
// asked for.
func (s *Search) Evaluate(ctx context.Context, selected *Selected,
	o request.Options) (*request.Result, error) {
	params, err := s.fillParams(selected.TrialIndex)
	if err != nil {
		return nil, err
	}
	p, err := s.prepareRun(params)
	if err != nil {
		return nil, err
	}
	o.Plan = request.Plan{ID: s.ID, Index: int64(selected.TrialIndex), Contaminated: true}
	answer, err := s.whole.Run(ctx, p, o)
	if err != nil || answer.Failure != nil {
		return answer, err
	}
	if m := answer.Metadata; m.PlanID != nil && *m.PlanID == s.ID && m.ValidationContaminated &&
		!m.Deviation {
		return answer, nil
	}
	// The run is there already, perhaps as the choice of an earlier plan.
	return s.whole.Enlist(ctx, p, o.Plan)
}

// Expand executes one trial in full and puts its full artifacts in the place of the
// compact ones; the result must be the same, else the error is an
// [request.MismatchError]. A trial that the plan's rule has not selected, or not yet, is
// marked as a deviation in its record.
func (s *Search) Expand(ctx context.Context, index int, o request.Options) (*request.Result, error) {
	if index < 0 || index >= len(s.Plan.Trials) {
		return nil, &request.Error{
			Code: "USAGE", Details: map[string]any{"flag": "--trial"},
			Message: fmt.Sprintf("%s has the trials 0 to %d, there is no %d", s.ID, len(s.Plan.Trials)-1,
				index),
		}
	}
	windows, err := s.countWindows(ctx, index)
	if err != nil {
		return nil, err
	}
	p, err := s.prepareTrial(index, windows)
	if err != nil {
		return nil, err
	}
	result, err := ReadResult(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	chosen := err == nil && result.Selected != nil && result.Selected.TrialIndex == index
	o.Plan = request.Plan{ID: s.ID, Index: int64(index), Deviation: !chosen}
	return s.whole.Upgrade(ctx, p, o)
}

// countWindows is how many windows a trial was played on: those of the last rung that has a
// stored run of it, all of them if there is none.
func (s *Search) countWindows(ctx context.Context, index int) (int, error) {
	rungs, err := s.Plan.Rungs(s.Windows)
	if err != nil {
		return 0, err
	}
	for j := len(rungs) - 1; j >= 0; j-- {
		p, err := s.prepareTrial(index, rungs[j].Budget)
		if err != nil {
			return 0, err
		}
		known, err := s.host.Known(ctx, p)
		if err != nil || known != nil {
			return rungs[j].Budget, err
		}
	}
	return s.Windows, nil
}
