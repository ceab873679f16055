package battery

import (
	"context"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/evidence"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/search/selection"
	"github.com/assay-run/assay/lab/split"
)

// Neighbours are the parameters beside those of a question, none where the strategy declares
// no number. The steps are those of the plan, where there is one.
func Neighbours(q *request.Prepared, plan *Plan, seed uint64) ([]design.Variant, error) {
	ranges, err := design.FromSchema(q.Strategy.ParamsSchema)
	if err != nil {
		return nil, err
	}
	if plan != nil {
		ranges = design.WithSpace(ranges, plan.Space)
	}
	return design.Around(q.Manifest.Request.StrategyParams, ranges, seed)
}

// paramNeighbourhood plays with parameters beside the base's, or where there are none with
// the numbers of the sources beside what they are. Points that the strategy does not accept,
// such as a fast average slower than the slow one, are none, and so is a number that is
// without effect on the decisions, or does not compile.
func (b *bench) paramNeighbourhood() (check, error) {
	points, err := Neighbours(b.Question, b.Plan, b.Seed)
	if err != nil {
		return check{}, err
	}
	if len(points) == 0 {
		return b.literals()
	}
	list, accepted := rows(len(points)), make([]bool, len(points))
	plays := make([]*play, len(points))
	for i, x := range points {
		plays[i] = b.beside(x.ID, &list[i], &accepted[i])
		plays[i].how.Params = x.Params
	}
	return check{plays: plays, judge: func(context.Context) (*finding, error) {
		f := b.besides("parameters", list, accepted)
		var played []selection.Point
		for i := range list {
			if accepted[i] {
				x := points[i]
				played = append(played, selection.Point{ID: x.ID, Params: x.Params, DecisionHash: list[i].DecisionHash})
			}
		}
		text, err := selection.WritePoints(played)
		if err != nil {
			return nil, err
		}
		f.add(evidence.File{Path: selection.PointsFile, Content: text, Rows: len(played)})
		return f, nil
	}}, nil
}

// literals plays programs in which one number of the sources is another.
func (b *bench) literals() (check, error) {
	if b.Sources == nil || len(b.Literals) == 0 {
		reason := judge.NoLiterals
		if b.Sources == nil {
			reason = judge.NoSources
		}
		return own(func(context.Context) (*finding, error) {
			return &finding{Test: b.judge.NoNeighbours(reason)}, nil
		})
	}
	list, accepted := rows(len(b.Literals)), make([]bool, len(b.Literals))
	plays := make([]*play, len(b.Literals))
	for i := range b.Literals {
		plays[i] = b.beside(b.Literals[i].ID(), &list[i], &accepted[i])
		plays[i].program, plays[i].hopeless = &b.Literals[i], true // a capsule has the base's program
	}
	return check{plays: plays, judge: func(context.Context) (*finding, error) {
		return b.besides("literals", list, accepted), nil
	}}, nil
}

// beside is a play of the search beside the base; accepted says whether there was one.
func (b *bench) beside(id string, into *judge.Replay, accepted *bool) *play {
	return &play{
		part: b.Search, how: request.Replay{ID: split.RoleSearch, Drive: quick},
		done: func(r *request.Replayed) error {
			*accepted = r.Results != nil || r.Failure != nil
			*into = rowOf(id, 0, r)
			return nil
		},
	}
}

// besides judges the neighbours that were played. Where none of them decides otherwise there
// is nothing to judge, and of numbers in the sources only those count that do: one that
// nothing depends on says nothing.
func (b *bench) besides(of string, list []judge.Replay, accepted []bool) *finding {
	var all, different []judge.Replay
	for i, r := range list {
		if !accepted[i] {
			continue
		}
		all = append(all, r)
		if r.Status != judge.Completed || r.DecisionHash != b.base.Results.DecisionHash {
			different = append(different, r)
		}
	}
	f := &finding{}
	switch {
	case len(different) == 0:
		f.Test = b.judge.NoNeighbours(judge.WithoutEffect)
		f.replays(all)
		f.NReplays = len(all)
	case of == "literals":
		f = b.spread(b.judge.Neighbours(different), different)
	default:
		f = b.spread(b.judge.Neighbours(all), all)
	}
	f.Params["neighbours_of"], f.Params["without_effect"] = of, len(all)-len(different)
	f.Params["not_accepted"] = len(list) - len(all)
	return f
}
