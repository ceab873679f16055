// Package warmup is the test warmup_recursive: decisions after one, two and four times the
// warm-up beside those after all history.
package warmup

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/lines"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
)

// ID names the test.
const ID = "warmup_recursive"

var entry = judge.Entry{
	Number: 5, ID: ID, Version: 2, Class: judge.Gate,
	Claim:  "the declared warm-up is enough",
	Method: "validation after 1, 2 and 4 times the warm-up against all history",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan, First: true}

// warm is a play of the validation split with some warm-up.
type warm struct {
	factor    int
	row       judge.Replay
	lines     []byte
	published map[string]run.Points
}

// plan compares the validation split after one, two and four times the warm-up that
// the strategy asks for with the same split after all history.
func plan(b *battery.Bench) (battery.Check, error) {
	list := []*warm{{factor: run.AllHistory}, {factor: 1}, {factor: 2}, {factor: 4}}
	var plays []*battery.Play
	for _, w := range list {
		variant := fmt.Sprintf("%dx", w.factor)
		if w.factor == run.AllHistory {
			variant = "all"
		}
		plays = append(plays, &battery.Play{
			Part: b.Validation,
			How: request.Replay{ID: split.RoleValidation, Lines: true, Series: true,
				Drive: run.Drive{Procs: 1, Warmup: w.factor, Forked: true}},
			Done: func(r *request.Replayed) error {
				w.row, w.lines, w.published = battery.RowOf(variant, 0, r), r.Lines, r.Published.Series
				return nil
			},
		})
	}
	return battery.Check{Plays: plays, Judge: func(context.Context) (*battery.Finding, error) {
		return drifts(b, list[0], list[1:])
	}}, nil
}

func drifts(b *battery.Bench, all *warm, list []*warm) (*battery.Finding, error) {
	// What was decided on the last candle of the warm-up came when it closed, at the open
	// of the window.
	start := b.Prepared.OpenAt(b.Validation.From) + 1
	drifts, rows := make([]Drift, len(list)), []judge.Replay{}
	var first *warm
	for i, w := range list {
		d := Drift{Multiple: w.factor, Status: w.row.Status}
		if all.row.Status != judge.Completed {
			d.Status = all.row.Status
		}
		var err error
		if d.Decisions, d.Differing, err = lines.Differing(all.lines, w.lines, start); err != nil {
			return nil, err
		}
		for _, name := range names(all.published, w.published) {
			d.Series = append(d.Series,
				SeriesDrift{Name: name, MaxRelative: relative(all.published[name], w.published[name])})
		}
		if d.Differing > 0 && first == nil {
			first = w
		}
		drifts[i], rows = d, append(rows, w.row)
	}
	f := &battery.Finding{Test: Judge(&b.Judge, drifts)}
	f.NReplays = len(list) + 1 // that with all history, which the others are compared with
	f.Replays(append(rows, all.row))
	f.Add(fileOf(drifts))
	f.Stressed, f.Beside, f.On = &list[0].row, &all.row, split.RoleValidation
	if first == nil {
		return f, nil
	}
	want, err := lines.Bare(all.lines, start)
	if err != nil {
		return nil, err
	}
	got, err := lines.Bare(first.lines, start)
	if err != nil {
		return nil, err
	}
	return f, f.FirstDiff(first.row.Variant, want, got)
}

// relative is how far two series are apart; those of other times are as far as can be.
func relative(want, got run.Points) float64 {
	if !slices.Equal(want.Time, got.Time) {
		return 1
	}
	return Relative(want.Values, got.Values)
}

// names are those of two sets of series together, sorted.
func names(a, b map[string]run.Points) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]run.Points{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// Drift is how a run with a multiple of its warm-up differs from one with all history.
type Drift struct {
	// Multiple of the declared warm-up: 1, 2, 4.
	Multiple int
	Status   judge.Status
	// Decisions is how many the run with all history makes, Differing how many of the two
	// runs' are not the other's, the larger of both counts.
	Decisions, Differing int
	// Series are what the strategy published.
	Series []SeriesDrift
}

// SeriesDrift is the largest relative difference of one published series.
type SeriesDrift struct {
	Name        string
	MaxRelative float64
}

// Relative is the largest difference between two series, in units of what it should be;
// where that is 0, any difference is 1. So is a difference in length or in times.
func Relative(want, got []float64) float64 {
	if len(want) != len(got) {
		return 1
	}
	most := 0.0
	for i, w := range want {
		d := math.Abs(got[i] - w)
		switch {
		case d == 0:
			continue
		case w == 0:
			d = 1
		default:
			d /= math.Abs(w)
		}
		if !(d <= most) {
			most = d
		}
	}
	return most
}

func (d Drift) share() float64 {
	if d.Differing == 0 {
		return 0
	}
	return float64(d.Differing) / float64(max(d.Decisions, d.Differing))
}

func (d Drift) worst() float64 {
	most := 0.0
	for _, s := range d.Series {
		most = max(most, s.MaxRelative)
	}
	return most
}

// Judge judges whether the declared warm-up suffices. A pass needs it of every multiple;
// a warning allows a share of the decisions to differ with the declared warm-up, the
// smallest multiple, as long as with the largest none does.
func Judge(j *judge.Judge, list []Drift) *judge.Test {
	p := j.Policy
	t := j.Begin(entry, len(list), map[string]any{
		"warmup_drift": p.WarmupDrift, "warmup_drift_warn": p.WarmupDriftWarn,
		"warmup_decisions_warn": p.WarmupDecisionsWarn,
	})
	differing, series := 0, 0.0
	var first, last Drift
	for _, d := range list {
		switch d.Status {
		case judge.Broken:
			return t.End(judge.Error, judge.HostError, "a replay could not be made")
		case judge.Failed:
			t.Measure("max_relative", nil, "", "<=", &p.WarmupDrift)
			return t.Endf(judge.Fail, judge.PluginFailed, "the program failed after %d times its warm-up",
				d.Multiple)
		}
		if first.Multiple == 0 || d.Multiple < first.Multiple {
			first = d
		}
		if d.Multiple >= last.Multiple {
			last = d
		}
		differing, series = max(differing, d.Differing), max(series, d.worst())
	}
	if len(list) == 0 {
		return t.End(judge.Error, judge.HostError, "no replay was made")
	}
	t.Params["decisions_differing"] = differing
	t.Measure("max_relative", &series, "", "<=", &p.WarmupDrift)
	switch {
	case differing == 0 && series <= p.WarmupDrift:
		return t.End(judge.Pass, "", "")
	case series > p.WarmupDriftWarn:
		return t.Endf(judge.Fail, judge.SeriesDiffer, "published series differ by up to %.2g", series)
	}
	share := first.share()
	if differing > 0 {
		t.Measure("share_differing", &share, "", "<=", judge.Ptr(0))
	}
	if share <= p.WarmupDecisionsWarn && last.Differing == 0 {
		return t.Endf(judge.Warn, driftReason(differing), "published series differ by up to %.2g, and "+
			"decisions by %d", series, differing)
	}
	return t.Endf(judge.Fail, judge.DecisionsDiffer, "%s of the decisions differ, and %d after %d times "+
		"the warm-up", judge.Percent(share), last.Differing, last.Multiple)
}

func driftReason(differing int) string {
	if differing > 0 {
		return judge.DecisionsDiffer
	}
	return judge.SeriesDiffer
}

// fileOf is drift.csv of warmup_recursive: per multiple of the warm-up (1x) a row for each
// published series, and one without series where nothing was published.
func fileOf(list []Drift) judge.File {
	s := judge.NewSheet(entry.ID, "drift.csv", "variant", "series", "max_relative", "decisions_differing")
	for _, d := range list {
		variant, differing := strconv.Itoa(d.Multiple)+"x", strconv.Itoa(d.Differing)
		for _, x := range d.Series {
			s.Row(variant, x.Name, judge.Plain(x.MaxRelative), differing)
		}
		if len(d.Series) == 0 {
			s.Row(variant, "", "", differing)
		}
	}
	return s.File()
}
