package selection

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/selection/series"
	"github.com/assay-run/assay/lab/selection/trials"
	"github.com/assay-run/assay/lab/stat"
)

// Trial is one thing that was tried, a class of package trials.
type Trial struct {
	// Key is the trial_key, RunID the run that stands for it: the judged one, else one with
	// a series, the one with the most windows, the first by id.
	Key, RunID string
	Exchange   string
	Data       []artifact.Dataset
	// Series is its stitched walk-forward, or its returns where it was played in one piece;
	// nil if there are none.
	Series *series.Series
	// Copies are the other keys under which the same was tried, in their order. Family says
	// that the family of the judged run has a part in it.
	Copies []string
	Family bool
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

// Read makes the ledger of a run that is completed: every trial on days that overlap with
// its own, of whatever family. The error is registry.ErrNotFound if there is no such run,
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
	book, err := trials.Read(ctx, reg, store)
	if err != nil {
		return nil, err
	}
	peeks, err := reg.Peeks(ctx, judged.FamilyID)
	if err != nil {
		return nil, err
	}
	l := &Ledger{TestPeeks: len(peeks), PostPeek: judged.PostPeek, Judged: -1}
	for _, c := range book.On(trials.DaysOf(judged.Data)) {
		l.add(c, judged)
	}
	if l.Judged < 0 { // the registry does not say so
		l.add(&trials.Class{Members: []*trials.Member{{Key: judged.TrialKey, RunID: judged.RunID, FamilyID: judged.FamilyID, Meta: judged}}}, judged)
	}
	l.sort()
	if err := l.standing(store, judged); err != nil {
		return nil, err
	}
	// Without its own files, as they are now, there is nothing to judge.
	l.Trials[l.Judged].Series, _, err = trials.Stitch(store, judged, trials.Windows(judged))
	return l, err
}

// add takes a class with the member that stands for it.
func (l *Ledger) add(c *trials.Class, judged *artifact.Metadata) {
	list := slices.Clone(c.Members)
	slices.SortFunc(list, func(a, b *trials.Member) int {
		return cmp.Or(
			first(a.RunID == judged.RunID && a.Meta != nil, b.RunID == judged.RunID && b.Meta != nil),
			first(a.Series != nil, b.Series != nil), cmp.Compare(windows(b), windows(a)),
			strings.Compare(a.RunID, b.RunID), strings.Compare(a.Key, b.Key))
	})
	stands := list[0]
	t := Trial{Key: stands.Key, RunID: stands.RunID, Series: stands.Series, Family: c.Has(judged.FamilyID)}
	if stands.Meta != nil {
		t.Exchange, t.Data = stands.Meta.Exchange, stands.Meta.Data
	}
	for _, m := range c.Members { // by key
		if m.Key != stands.Key && !slices.Contains(t.Copies, m.Key) {
			t.Copies = append(t.Copies, m.Key)
		}
		if m.Problem != "" {
			l.Warnings = append(l.Warnings, artifact.ReportWarning{
				Code: CodeTrialUnreadable, Pointer: "/overfitting/selection",
				Message: fmt.Sprintf("run %s is counted without its returns: %s", m.RunID, m.Problem),
			})
		}
	}
	if stands.Meta != nil && stands.RunID == judged.RunID {
		l.Judged, l.Again = len(l.Trials), again(c, judged)
	}
	l.Trials = append(l.Trials, t)
}

// sort puts the trials in the order of the keys that stand for them.
func (l *Ledger) sort() {
	judged := l.Trials[l.Judged].Key
	slices.SortFunc(l.Trials, func(a, b Trial) int { return strings.Compare(a.Key, b.Key) })
	l.Judged = slices.IndexFunc(l.Trials, func(t Trial) bool { return t.Key == judged })
}

// FamilyTrials counts the trials that the family of the judged run has a part in.
func (l *Ledger) FamilyTrials() int {
	n := 0
	for i := range l.Trials {
		if l.Trials[i].Family {
			n++
		}
	}
	return n
}

// StandsFor is the key of the trial that a trial_key is counted as, the key itself if it is
// not counted.
func (l *Ledger) StandsFor(key string) string {
	for i := range l.Trials {
		if slices.Contains(l.Trials[i].Copies, key) {
			return l.Trials[i].Key
		}
	}
	return key
}

// again is the Again of a ledger.
func again(c *trials.Class, judged *artifact.Metadata) int {
	type question struct{ seed, splits string }
	asked := map[question]bool{{judged.Seed, judged.SplitsSHA256}: true}
	for _, x := range c.Members {
		m := x.Meta
		if m == nil || m.TrialKey != judged.TrialKey || m.Kind == artifact.KindService || m.Status != artifact.StatusCompleted {
			continue
		}
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

func windows(m *trials.Member) int {
	if m.Meta == nil {
		return 0
	}
	return len(trials.Windows(m.Meta))
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

func reportOf(store *artifact.Store, m *artifact.Metadata) (*artifact.Report, error) {
	text, err := trials.Verified(store, m, "report.json")
	if err != nil {
		return nil, err
	}
	rep := &artifact.Report{}
	if err := json.Unmarshal(text, rep); err != nil {
		return nil, &artifact.MismatchError{RunID: m.RunID, Problems: []string{"report.json: " + err.Error()}}
	}
	return rep, nil
}
