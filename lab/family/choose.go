package family

import (
	"cmp"
	"math"
	"slices"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/selection/series"
	"github.com/assay-run/assay/lab/selection/surface"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
)

// better says whether an objective is better than another.
func (s *Search) better(a, b float64) bool {
	if s.Plan.Objective.Direction == project.Minimise {
		return a < b
	}
	return a > b
}

// order is negative where a is the better one; what is undefined is worse than anything.
func (s *Search) order(a, b *float64) int {
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

// promote is which n trials of a rung go on, by objective over its windows, ties by index.
// One whose objective is undefined goes on only where there is room: on more windows it
// may have one. One that failed never does.
func (s *Search) promote(played []*Trial, n int) []int {
	var list []*Trial
	for _, t := range played {
		if t.Status == Completed {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b *Trial) int { return cmp.Or(s.order(a.Objective, b.Objective), cmp.Compare(a.Index, b.Index)) })
	var alive []int
	for _, t := range list[:min(n, len(list))] {
		alive = append(alive, t.Index)
	}
	slices.Sort(alive)
	return alive
}

// rank numbers the trials that have an objective.
func (s *Search) rank(trials []*Trial) {
	var list []*Trial
	for _, t := range trials {
		if t.Objective != nil {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b *Trial) int {
		return cmp.Or(cmp.Compare(len(b.Windows), len(a.Windows)), s.order(a.Objective, b.Objective), cmp.Compare(a.Index, b.Index))
	})
	for i, t := range list {
		t.Rank = i + 1
	}
}

// finalists are the trials that may be selected: only objectives over the same windows
// can be compared, so pruned ones are none.
func finalists(trials []*Trial) []*Trial {
	var list []*Trial
	for _, t := range trials {
		if t.Status == Completed && t.Objective != nil {
			list = append(list, t)
		}
	}
	return list
}

// points are the finalists in the unit cube of the space.
func (s *Search) points(list []*Trial) ([]surface.Trial, error) {
	out := make([]surface.Trial, len(list))
	for i, t := range list {
		at, err := s.Plan.Space.Position(t.Params)
		if err != nil {
			return nil, err
		}
		out[i] = surface.Trial{At: at, Objective: t.Objective}
	}
	return out, nil
}

// choose is the trial that the plan's rule selects among the finalists, nil if there is
// none. Ties go to the lower index.
func (s *Search) choose(list []*Trial, of map[int]*series.Series) (*Trial, error) {
	score := func(t *Trial) *float64 { return t.Objective }
	sign := s.order
	switch s.Plan.SelectionRule {
	case project.RulePlateau:
		score = func(t *Trial) *float64 { return t.Plateau }
	case project.RuleCPCV:
		if err := crossValidate(list, of); err != nil {
			return nil, err
		}
		score = func(t *Trial) *float64 { return t.CPCV }
		sign = func(a, b *float64) int { // a Sharpe ratio, whatever the objective is
			switch {
			case a == nil || b == nil:
				return s.order(a, b)
			}
			return cmp.Compare(*b, *a)
		}
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
func crossValidate(list []*Trial, of map[int]*series.Series) error {
	if len(list) == 0 || of[list[0].Index] == nil {
		return nil
	}
	first := of[list[0].Index]
	none := 0
	scheme := split.Scheme{Scheme: split.CPCV, Purge: &none, Embargo: &none}
	choices, err := scheme.Folded(len(first.Return), 0)
	if err != nil {
		return nil // too few days: nobody has a score
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
