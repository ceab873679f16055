// Package paramneighbourhood is the test param_neighbourhood: parameters beside those of the
// base, or numbers beside those in its sources.
package paramneighbourhood

import (
	"context"

	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
)

// ID names the test.
const ID = "param_neighbourhood"

var entry = judge.Entry{
	Number: 11, ID: ID, Version: 2, Class: judge.Gate,
	Claim: "nearby parameters do about as well",
	Method: "each number +-5, 10, 20 % (a step at least) and 32 points within +-10 %; " +
		"without parameters, the numbers in the Go sources, up to 24 of their neighbours",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan}

// Neighbours are the parameters beside those of a request, none where the strategy declares
// no number. The steps are those of the plan, where there is one.
func Neighbours(q *request.Prepared, plan *battery.Plan, seed uint64) ([]design.Variant, error) {
	ranges, err := design.FromSchema(q.Strategy.ParamsSchema)
	if err != nil {
		return nil, err
	}
	if plan != nil {
		ranges = design.WithSpace(ranges, plan.Space)
	}
	return design.Around(q.Manifest.Request.StrategyParams, ranges, seed)
}

// plan plays with parameters beside the base's, or where there are none with
// the numbers of the sources beside what they are. Points that the strategy does not accept,
// such as a fast average slower than the slow one, are none, and so is a number that is
// without effect on the decisions, or does not compile.
func plan(b *battery.Bench) (battery.Check, error) {
	points, err := Neighbours(b.Prepared, b.Plan, b.Seed)
	if err != nil {
		return battery.Check{}, err
	}
	if len(points) == 0 {
		return literals(b)
	}
	list, accepted := make([]judge.Replay, len(points)), make([]bool, len(points))
	plays := make([]*battery.Play, len(points))
	for i, x := range points {
		plays[i] = beside(b, x.ID, &list[i], &accepted[i])
		plays[i].How.Params = x.Params
	}
	return battery.Check{Plays: plays, Judge: func(context.Context) (*battery.Finding, error) {
		f := besides(b, "parameters", list, accepted)
		var played []selection.Point
		for i := range list {
			if accepted[i] {
				x := points[i]
				played = append(played,
					selection.Point{ID: x.ID, Params: x.Params, DecisionHash: list[i].DecisionHash})
			}
		}
		text, err := selection.WritePoints(played)
		if err != nil {
			return nil, err
		}
		f.Add(judge.File{Path: selection.PointsFile, Content: text, Rows: len(played)})
		return f, nil
	}}, nil
}

// literals plays programs in which one number of the sources is another.
func literals(b *battery.Bench) (battery.Check, error) {
	if b.Sources == nil || len(b.Literals) == 0 {
		reason := judge.NoLiterals
		if b.Sources == nil {
			reason = judge.NoSources
		}
		return battery.Own(func() (*battery.Finding, error) {
			return &battery.Finding{Test: JudgeNone(&b.Judge, reason)}, nil
		})
	}
	list, accepted := make([]judge.Replay, len(b.Literals)), make([]bool, len(b.Literals))
	plays := make([]*battery.Play, len(b.Literals))
	for i := range b.Literals {
		plays[i] = beside(b, b.Literals[i].ID(), &list[i], &accepted[i])
		plays[i].Program, plays[i].Hopeless = &b.Literals[i], true // a capsule has the base's program
	}
	return battery.After(plays, func() *battery.Finding {
		return besides(b, "literals", list, accepted)
	})
}

// beside is a play of the search beside the base; accepted is whether the strategy took it.
func beside(b *battery.Bench, id string, into *judge.Replay, accepted *bool) *battery.Play {
	return &battery.Play{
		Part: b.Search, How: request.Replay{ID: split.RoleSearch, Drive: battery.Quick},
		Done: func(r *request.Replayed) error {
			*accepted = r.Results != nil || r.Failure != nil
			*into = battery.RowOf(id, 0, r)
			return nil
		},
	}
}

// besides judges the neighbours that were played. Where all decide as the base there is nothing to
// judge; numbers in the sources count only where they change a decision.
func besides(b *battery.Bench, of string, list []judge.Replay, accepted []bool) *battery.Finding {
	var all, different []judge.Replay
	for i, r := range list {
		if !accepted[i] {
			continue
		}
		all = append(all, r)
		if r.Status != judge.Completed || r.DecisionHash != b.Played.Results.DecisionHash {
			different = append(different, r)
		}
	}
	f := &battery.Finding{}
	switch {
	case len(different) == 0:
		f.Test = JudgeNone(&b.Judge, judge.WithoutEffect)
		f.Replays(all)
		f.NReplays = len(all)
	case of == "literals":
		f = battery.Spread(Judge(&b.Judge, different), different)
	default:
		f = battery.Spread(Judge(&b.Judge, all), all)
	}
	f.Params["neighbours_of"], f.Params["without_effect"] = of, len(all)-len(different)
	f.Params["not_accepted"] = len(list) - len(all)
	return f
}

// Judge judges param_neighbourhood: parameters beside the base's do about as well.
func Judge(j *judge.Judge, list []judge.Replay) *judge.Test {
	p := j.Policy
	t := j.Begin(entry, len(list), map[string]any{
		"keep": p.Keep, "neighbour_positive": p.NeighbourPositive, "neighbour_peak": p.NeighbourPeak,
	})
	if j.Unready(t, list) {
		return t
	}
	values := judge.Ratios(list)
	peak, _ := stat.Quantile(values, p.NeighbourPeak) // there is at least one
	if m := judge.Median(values); *j.Base.Sharpe > peak && m <= judge.MedianAbove {
		t.Measure("median_sharpe_ratio", &m, "", ">=", judge.Ptr(p.Keep**j.Base.Sharpe))
		return t.Endf(judge.Fail, judge.SharpeFalls, "the median Sharpe ratio of the neighbours is %s, its "+
			"own %s", judge.TwoDigits(m), judge.TwoDigits(*j.Base.Sharpe))
	}
	if j.Kept(t, values, p.NeighbourPositive); t.Verdict == judge.Fail {
		t.Verdict = judge.Warn
	}
	return t
}

// JudgeNone is param_neighbourhood of a strategy without neighbours to play, which is
// no better than one whose neighbours do worse: it warns.
func JudgeNone(j *judge.Judge, reason string) *judge.Test {
	t := j.Begin(entry, 0, nil)
	t.Measure("median_sharpe_ratio", nil, stat.NotApplicable, ">=", nil)
	detail := map[string]string{
		judge.NoSources: "it declares no parameters, and the Go sources that its program was built from " +
			"are " +
			"not at hand",
		judge.NoLiterals:    "it declares no parameters, and there is no number in its sources to change",
		judge.WithoutEffect: "no number that could be changed has an effect on its decisions",
	}[reason]
	return t.End(judge.Warn, reason, detail)
}
