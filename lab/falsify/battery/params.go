package battery

import (
	"context"

	"github.com/assay-run/assay/lab/design/neighbour"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/evidence"
	"github.com/assay-run/assay/lab/selection/trials"
	"github.com/assay-run/assay/lab/split"
)

// paramNeighbourhood plays with parameters beside the base's. Points that the strategy
// does not accept, such as a fast average slower than the slow one, are none.
func (b *bench) paramNeighbourhood() (check, error) {
	ranges, err := neighbour.FromSchema(b.Question.Strategy.ParamsSchema)
	if err != nil {
		return check{}, err
	}
	if b.Plan != nil {
		ranges = neighbour.WithSpace(ranges, b.Plan.Space)
	}
	points, err := neighbour.Around(b.Question.Manifest.Request.StrategyParams, ranges, b.Seed)
	if err != nil {
		return check{}, err
	}
	list, accepted := rows(len(points)), make([]bool, len(points))
	var plays []*play
	for i, x := range points {
		plays = append(plays, &play{
			part: b.Search, how: evaluate.Replay{ID: split.RoleSearch, Params: x.Params, Drive: quick},
			done: func(r *evaluate.Replayed) error {
				accepted[i] = r.Results != nil || r.Failure != nil
				list[i] = rowOf(x.ID, 0, r)
				return nil
			},
		})
	}
	if len(points) == 0 {
		return check{skip: judge.NoParameters}, nil
	}
	return check{plays: plays, judge: func(context.Context) (*finding, error) {
		var kept []judge.Replay
		var played []trials.Point
		for i := range list {
			if accepted[i] {
				kept = append(kept, list[i])
				played = append(played, trials.Point{ID: points[i].ID, Params: points[i].Params, DecisionHash: list[i].DecisionHash})
			}
		}
		if len(kept) == 0 {
			return &finding{Test: judge.Skip(judge.ParamNeighbours, judge.NoParameters)}, nil
		}
		text, err := trials.WritePoints(played)
		if err != nil {
			return nil, err
		}
		f := b.spread(b.judge.Neighbours(kept), kept)
		f.add(evidence.File{Path: trials.PointsFile, Content: text, Rows: len(played)})
		return f, nil
	}}, nil
}
