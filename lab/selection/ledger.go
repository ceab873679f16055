package selection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/selection/series"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
)

// Trial is one thing that was tried.
type Trial struct {
	// Key is the trial_key, RunID the run that stands for it: the judged one, else the one
	// with the most windows, else the first by id.
	Key, RunID string
	Exchange   string
	Data       []artifact.Dataset
	// Series is its stitched walk-forward, nil if there is none.
	Series *series.Series
}

// Ledger is all that was tried to find one run, by key.
type Ledger struct {
	Trials []Trial
	// Judged is the index of the run in question, whose ratios are not estimated if Why is
	// not empty. PeriodsPerYear is the number of its returns in a year.
	Judged         int
	Why            stat.Reason
	PeriodsPerYear float64
	// TestPeeks counts the looks at the locked test of the family; PostPeek says that the
	// run was first tried after one.
	TestPeeks int
	PostPeek  bool
	// Again counts the runs with the key of the judged one under another seed or on other
	// splits: no part of N, because a key is one trial, but something to choose from all the
	// same. Those that belong to the plan of the judged run, and what is asked twice, do not
	// count.
	Again int
	// Warnings are the trials whose files could not be used.
	Warnings []artifact.ReportWarning
}

// CodeTrialUnreadable is the code of a warning about a trial without usable files.
const CodeTrialUnreadable = "TRIAL_UNREADABLE"

// Read makes the ledger of a run that is completed: every trial of its family on data
// that overlaps with its own. The error is registry.ErrNotFound if there is no such run,
// and an *artifact.MismatchError if its own files have changed.
func Read(ctx context.Context, reg *registry.Registry, store *artifact.Store, runID string) (*Ledger, error) {
	row, err := reg.Get(ctx, runID)
	if err != nil {
		return nil, err
	}
	judged, err := artifact.DecodeMetadata(row.Payload)
	if err != nil {
		return nil, err
	}
	groups, err := groupsOf(ctx, reg, judged)
	if err != nil {
		return nil, err
	}
	peeks, err := reg.Peeks(ctx, judged.FamilyID)
	if err != nil {
		return nil, err
	}
	l := &Ledger{TestPeeks: len(peeks), PostPeek: judged.PostPeek, Trials: make([]Trial, len(groups))}
	l.Judged = slices.IndexFunc(groups, func(g group) bool { return g.key == judged.TrialKey })
	l.Again = groups[l.Judged].again(judged)
	if err := l.standing(store, judged); err != nil {
		return nil, err
	}
	warnings := make([][]artifact.ReportWarning, len(groups))
	errs := make([]error, len(groups))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(groups)) {
		wg.Go(func() {
			for i := range next {
				if errs[i] = ctx.Err(); errs[i] == nil {
					l.Trials[i], warnings[i], errs[i] = groups[i].read(store, judged.RunID)
				}
			}
		})
	}
	for i := range groups {
		next <- i
	}
	close(next)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	l.Warnings = slices.Concat(warnings...)
	return l, nil
}

// group is the runs of one trial, the best one first.
type group struct {
	key string
	// oldest is the run that the registry knows the trial by.
	oldest string
	runs   []*artifact.Metadata
}

// groupsOf are the trials that count, by key. The judged run is one of them, also when
// the registry does not say so.
func groupsOf(ctx context.Context, reg *registry.Registry, judged *artifact.Metadata) ([]group, error) {
	trials, err := reg.Trials(ctx, judged.FamilyID)
	if err != nil {
		return nil, err
	}
	byKey := map[string]*group{judged.TrialKey: {key: judged.TrialKey, runs: []*artifact.Metadata{judged}}}
	for _, t := range trials {
		if registry.CountTrials([]registry.Trial{t}, judged.Data) == 1 && byKey[t.Key] == nil {
			byKey[t.Key] = &group{key: t.Key, oldest: t.RunID}
		}
	}
	rows, err := reg.ListMetadata(ctx, registry.Filter{FamilyID: judged.FamilyID, Status: artifact.StatusCompleted})
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		g := byKey[row.TrialKey]
		if g == nil || row.RunID == judged.RunID || row.Kind != artifact.KindRun && row.Kind != artifact.KindTrial {
			continue
		}
		if m, err := artifact.DecodeMetadata(row.Payload); err == nil {
			g.runs = append(g.runs, m)
		}
	}
	var out []group
	for _, g := range byKey {
		slices.SortFunc(g.runs, func(a, b *artifact.Metadata) int {
			return cmp.Or(
				first(a.RunID == judged.RunID, b.RunID == judged.RunID),
				cmp.Compare(len(windowsOf(b)), len(windowsOf(a))), strings.Compare(a.RunID, b.RunID))
		})
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b group) int { return strings.Compare(a.key, b.key) })
	return out, nil
}

// again is the Again of a ledger.
func (g group) again(judged *artifact.Metadata) int {
	type question struct{ seed, splits string }
	asked := map[question]bool{{judged.Seed, judged.SplitsSHA256}: true}
	for _, m := range g.runs {
		if judged.PlanID == nil || m.PlanID == nil || *m.PlanID != *judged.PlanID {
			asked[question{m.Seed, m.SplitsSHA256}] = true
		}
	}
	return len(asked) - 1
}

// first orders what is true before what is not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// windowsOf are the walk-forward windows of a run.
func windowsOf(m *artifact.Metadata) []string {
	var ids []string
	for _, s := range m.Splits {
		if s.Kind == split.RoleWalkForward {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// read takes the first run of the trial whose files can be used. Those of the judged run
// must be: without them there is nothing to judge.
func (g group) read(store *artifact.Store, judged string) (Trial, []artifact.ReportWarning, error) {
	t := Trial{Key: g.key, RunID: g.oldest}
	var warnings []artifact.ReportWarning
	for _, m := range g.runs {
		s, why, err := read(store, m)
		var changed *artifact.MismatchError
		switch {
		case err != nil && m.RunID == judged:
			return t, nil, err
		case errors.As(err, &changed):
			warnings = append(warnings, artifact.ReportWarning{
				Code: CodeTrialUnreadable, Pointer: "/overfitting/selection",
				Message: fmt.Sprintf("run %s is counted without its returns: %s", m.RunID, strings.Join(changed.Problems, "; ")),
			})
			continue
		case err != nil:
			return t, nil, err
		}
		if why == "" || m.RunID == judged {
			t.RunID, t.Exchange, t.Data, t.Series = m.RunID, m.Exchange, m.Data, s
			break
		}
	}
	return t, warnings, nil
}

// standing takes from the report of the judged run whether its ratios are estimated at
// all, and the calendar that they are annualised by.
func (l *Ledger) standing(store *artifact.Store, judged *artifact.Metadata) error {
	rep, err := reportOf(store, judged)
	if err != nil {
		return err
	}
	if rep.WalkForward == nil {
		l.Why = stat.NotApplicable
		return nil
	}
	l.PeriodsPerYear = rep.WalkForward.Meta.PeriodsPerYear
	if rep.WalkForward.Meta.Undefined["sharpe_ratio"] == metric.Insufficient {
		l.Why = stat.Insufficient
	}
	return nil
}
