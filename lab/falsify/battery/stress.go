package battery

import (
	"context"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/evidence"
	"github.com/assay-run/assay/lab/falsify/judge/null"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
)

// harder is a play of the search split on its own candles under other rules; the row
// that becomes of it goes into its place.
func (b *bench) harder(variant string, into *judge.Replay, how request.Replay) *play {
	how.ID, how.Drive = split.RoleSearch, quick
	return &play{part: b.Search, how: how, done: func(r *request.Replayed) error {
		*into = rowOf(variant, 0, r)
		return nil
	}}
}

// costStress plays with half as much again, twice and three times the costs.
func (b *bench) costStress() (check, error) {
	own, err := null.CostOf(1, b.base.Results, b.base.Input)
	if err != nil {
		return check{}, err
	}
	tenths := []int{15, 20, 30}
	list, levels := rows(len(tenths)), make([]*null.Cost, len(tenths))
	var plays []*play
	for i, t := range tenths {
		multiple := float64(t) / 10
		p := b.harder([]string{"x1.5", "x2", "x3"}[i], &list[i], request.Replay{CostTenths: t})
		keep := p.done
		p.done = func(r *request.Replayed) error {
			if r.Failure == nil {
				level, err := null.CostOf(multiple, r.Results, r.Input)
				if err != nil {
					return err
				}
				levels[i] = &level
			}
			return keep(r)
		}
		plays = append(plays, p)
	}
	return check{plays: plays, judge: func(context.Context) (*finding, error) {
		costs := []null.Cost{own}
		for _, l := range levels {
			if l != nil {
				costs = append(costs, *l)
			}
		}
		f := &finding{Test: b.judge.Costs(costs), stressed: &list[1]}
		f.NReplays = len(list)
		f.replays(append([]judge.Replay{rowOf("x1", 0, b.base)}, list...))
		f.add(evidence.Costs(costs))
		return f, nil
	}}, nil
}

// delayStress makes every intent eligible one and two candles later.
func (b *bench) delayStress() (check, error) {
	list := rows(2)
	plays := []*play{
		b.harder("delay_1", &list[0], request.Replay{DelayCandles: 1}),
		b.harder("delay_2", &list[1], request.Replay{DelayCandles: 2}),
	}
	return check{plays: plays, judge: func(context.Context) (*finding, error) {
		f := &finding{Test: b.judge.Delayed(list[0], len(list)), stressed: &list[0]}
		f.replays(list)
		return f, nil
	}}, nil
}

// intrabarWorst fills market orders at the worse of open and close.
func (b *bench) intrabarWorst() (check, error) {
	list := rows(1)
	plays := []*play{b.harder("worst_price", &list[0], request.Replay{WorstPrice: true})}
	return check{plays: plays, judge: func(context.Context) (*finding, error) {
		f := &finding{Test: b.judge.Worst(list[0]), stressed: &list[0]}
		f.replays(list)
		return f, nil
	}}, nil
}
