// Package stress is the tests cost_stress, delay_stress and intrabar_worst, which play the
// base under harder rules. Their rules are in package judge: lab run judges by them, too.
package stress

import (
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
)

// The tests of this package.
var (
	Costs    = battery.Test{Entry: judge.CostStress, Plan: costStress}
	Delay    = battery.Test{Entry: judge.DelayStress, Plan: delayStress}
	Intrabar = battery.Test{Entry: judge.IntrabarWorst, Plan: intrabarWorst}
)

// harder is a play of the search split on its own candles under other rules; the row
// that becomes of it goes into its place.
func harder(b *battery.Bench, variant string, into *judge.Replay, how request.Replay) *battery.Play {
	how.ID, how.Drive = split.RoleSearch, battery.Quick
	return &battery.Play{Part: b.Search, How: how, Done: func(r *request.Replayed) error {
		*into = battery.RowOf(variant, 0, r)
		return nil
	}}
}

// costStress plays with half as much again, twice and three times the costs.
func costStress(b *battery.Bench) (battery.Check, error) {
	own, err := account.CostOf(1, b.Played.Results, b.Played.Input)
	if err != nil {
		return battery.Check{}, err
	}
	tenths := []int{15, 20, 30}
	list, levels := make([]judge.Replay, len(tenths)), make([]*account.Cost, len(tenths))
	var plays []*battery.Play
	for i, t := range tenths {
		multiple := float64(t) / 10
		p := harder(b, []string{"x1.5", "x2", "x3"}[i], &list[i], request.Replay{CostTenths: t, Books: true})
		keep := p.Done
		p.Done = func(r *request.Replayed) error {
			if r.Failure == nil {
				level, err := account.CostOf(multiple, r.Results, r.Input)
				if err != nil {
					return err
				}
				levels[i] = &level
			}
			return keep(r)
		}
		plays = append(plays, p)
	}
	return battery.After(plays, func() *battery.Finding {
		costs := []account.Cost{own}
		for _, l := range levels {
			if l != nil {
				costs = append(costs, *l)
			}
		}
		f := &battery.Finding{Test: b.Judge.Costs(costs), Stressed: &list[1]}
		f.NReplays = len(list)
		f.Replays(append([]judge.Replay{battery.RowOf("x1", 0, b.Played)}, list...))
		f.Add(fileOf(costs))
		return f
	})
}

// delayStress makes every intent eligible one and two candles later.
func delayStress(b *battery.Bench) (battery.Check, error) {
	list := make([]judge.Replay, 2)
	plays := []*battery.Play{
		harder(b, "delay_1", &list[0], request.Replay{DelayCandles: 1}),
		harder(b, "delay_2", &list[1], request.Replay{DelayCandles: 2}),
	}
	return battery.After(plays, func() *battery.Finding {
		f := &battery.Finding{Test: b.Judge.Delayed(list[0], len(list)), Stressed: &list[0]}
		f.Replays(list)
		return f
	})
}

// intrabarWorst fills market orders at the worse of open and close.
func intrabarWorst(b *battery.Bench) (battery.Check, error) {
	list := make([]judge.Replay, 1)
	plays := []*battery.Play{harder(b, "worst_price", &list[0], request.Replay{WorstPrice: true})}
	return battery.After(plays, func() *battery.Finding {
		f := &battery.Finding{Test: b.Judge.Worst(list[0]), Stressed: &list[0]}
		f.Replays(list)
		return f
	})
}

func fileOf(levels []account.Cost) judge.File {
	s := judge.NewSheet(judge.CostStress.ID, "costs.csv", "multiplier", "gross_pnl", "costs", "net_pnl",
		"turnover", "break_even_bps")
	for _, c := range levels {
		s.Row(judge.Plain(c.Multiplier), c.Gross.Trim(0).String(), c.Costs.Trim(0).String(),
			c.Net.Trim(0).String(), judge.Plain(c.Turnover), judge.Optional(c.BreakEvenBps))
	}
	return s.File()
}
