package battery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/evidence"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/design"
	"github.com/assay-run/assay/lab/split"
)

// Plan is the search that the base was selected by.
type Plan struct {
	// Space is what was searched: its steps are the least changes of param_neighbourhood.
	Space design.Space
	// Metric is what the plan optimises; Minimise says that less is better.
	Metric   string
	Minimise bool
	// Profile is the id of the one that the plan names, Seed the plan's.
	Profile string
	Seed    uint64
	// Params are all parameters of each trial.
	Params []json.RawMessage
}

// MostSearched is how many trials, on all permutations together, permuted_selection plays
// at most. Each is played on five windows.
const MostSearched = 100_000

// better says whether an objective is better than the best so far. One that is undefined
// is worse than anything.
func (p *Plan) better(x, best *float64) bool {
	switch {
	case x == nil || best == nil:
		return x != nil
	case p.Minimise:
		return *x < *best
	}
	return *x > *best
}

// searched is what a search has found on one market.
type searched struct {
	// Trial is the best one, -1 if none has an objective; Best is how it went.
	Trial     int          `json:"trial"`
	Objective *float64     `json:"objective"`
	Best      judge.Replay `json:"best"`
	// Failed is the first play whose plugin failed, nil for none.
	Failed *place `json:"failed,omitempty"`
}

// place is a play in a search.
type place struct {
	Trial  int `json:"trial"`
	Window int `json:"window"`
}

// permutedSelection makes the whole plan on permuted train candles: what the search finds
// where there is nothing to be found. Trials are judged as in the plan, by the stitched
// test windows of a walk-forward, here over the train candles.
func (b *bench) permutedSelection() (check, error) {
	switch {
	case !b.Profile.Full:
		return check{skip: judge.OnlyWithFull}, nil
	case b.Plan == nil:
		return check{skip: judge.NotDeclared}, nil
	}
	return check{later: int64(b.perSearch() * (b.Profile.Selections + 1)), judge: b.searches}, nil
}

func (b *bench) perSearch() int { return len(b.Plan.Params) * len(b.searchWindows()) }

// searchWindows are the windows that a search on train is judged by.
func (b *bench) searchWindows() []Part {
	var out []Part
	for _, w := range split.Tests(b.Train.To - b.Train.From) {
		out = append(out, Part{b.Train.From + w[0], b.Train.From + w[1]})
	}
	return out
}

// searches makes the search on train as it is and on each permutation, one after the
// other, so that one set of candles is there at a time.
func (b *bench) searches(ctx context.Context) (_ *finding, err error) {
	kept, err := openJournal(b.Journal)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, kept.close()) }()
	set, list := b.trainSet(), make([]*searched, b.Profile.Selections+1)
	for i := range list {
		if list[i] = kept.found[i]; list[i] != nil && b.fits(list[i]) {
			b.done += int64(b.perSearch())
			continue
		}
		if list[i], err = b.searchOn(ctx, set, i); err != nil {
			return nil, err
		}
		if why := b.refused[judge.PermutedSelection]; why != "" {
			return &finding{Test: judge.Broke(judge.PermutedSelection, why)}, nil
		}
		if err := kept.note(i, list[i]); err != nil {
			return nil, err
		}
	}
	for i, s := range list {
		if s.Failed != nil {
			again := b.searchPlay(s.Failed.Trial, b.searchWindows()[s.Failed.Window])
			again.failed = true
			if i > 0 {
				again.on = func() (replay.Set, error) { return permuted(set, b.Seed, i), nil }
			}
			if err := b.crashed(ctx, []*play{again}); err != nil {
				return nil, err
			}
			break
		}
	}
	return b.chosen(list), nil
}

// fits says whether a search that was kept can be one of this plan.
func (b *bench) fits(s *searched) bool {
	trials, f := len(b.Plan.Params), s.Failed
	return s.Trial >= -1 && s.Trial < trials && (s.Trial < 0) == (s.Objective == nil) &&
		(f == nil || f.Trial >= 0 && f.Trial < trials && f.Window >= 0 && f.Window < len(b.searchWindows()))
}

// permuted is the candles of one search; 0 is that on train as it is.
func permuted(set replay.Set, seed uint64, i int) replay.Set {
	out, _ := replay.Permute(set, seed, uint64(i-1))
	return out
}

// searchOn makes the search on one permutation.
func (b *bench) searchOn(ctx context.Context, set replay.Set, i int) (_ *searched, err error) {
	if i == 0 {
		return b.searchIn(ctx, nil)
	}
	m, err := b.enter(ctx, permuted(set, b.Seed, i))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	return b.searchIn(ctx, m.question)
}

func (b *bench) searchPlay(trial int, window Part) *play {
	return &play{
		test: judge.PermutedSelection, part: window, how: request.Replay{ID: split.RoleTrain, Params: b.Plan.Params[trial], Drive: quick},
	}
}

// attempt is a trial on its way: what its windows have come to.
type attempt struct {
	inputs []metric.Input
	hashes map[string]string
	net    decimal.Decimal
	left   int
	void   bool // a window has failed, or the strategy has no such parameters
}

// searchIn plays every trial on a market that is there, nil for the base's.
func (b *bench) searchIn(ctx context.Context, market *request.Prepared) (*searched, error) {
	windows, out := b.searchWindows(), &searched{Trial: -1, Best: judge.Replay{Status: judge.Completed}}
	var plays []*play
	for trial := range b.Plan.Params {
		a := &attempt{inputs: make([]metric.Input, len(windows)), hashes: map[string]string{}, left: len(windows)}
		for w, window := range windows {
			p := b.searchPlay(trial, window)
			p.market = market
			p.done = func(r *request.Replayed) error {
				at := place{trial, w}
				if r.Failure != nil && (out.Failed == nil || at.before(*out.Failed)) {
					out.Failed = &at
				}
				if err := a.take(w, r); err != nil || a.left > 0 || a.void {
					return err
				}
				return out.weigh(b.Plan, trial, a)
			}
			plays = append(plays, p)
		}
	}
	return out, b.play(ctx, plays)
}

func (p place) before(q place) bool {
	return p.Trial < q.Trial || p.Trial == q.Trial && p.Window < q.Window
}

// take keeps what a window has come to.
func (a *attempt) take(w int, r *request.Replayed) (err error) {
	if a.left--; r.Failure != nil || r.Results == nil {
		a.void, a.inputs = true, nil
	}
	if a.void {
		return nil
	}
	a.inputs[w], a.hashes[fmt.Sprintf("wf-%02d", w)] = r.Input, r.Results.DecisionHash
	net, err := netOf(r.Results)
	if err != nil {
		return err
	}
	a.net, err = a.net.Add(net)
	return err
}

// weigh takes a trial over if it is better than the best so far; of equal ones the first
// of the plan. What is too small for ratios has none, as in the plan.
func (s *searched) weigh(p *Plan, trial int, a *attempt) error {
	wf, err := request.Stitched(a.inputs)
	a.inputs = nil
	if err != nil {
		return err
	}
	x, defined := wf.Metrics.Get(p.Metric)
	if !defined {
		return nil
	}
	equal := s.Objective != nil && *s.Objective == x
	if !p.better(&x, s.Objective) && (!equal || trial > s.Trial) {
		return nil
	}
	hash, err := digest.Of(a.hashes)
	if err != nil {
		return err
	}
	s.Trial, s.Objective = trial, &x
	s.Best = judge.Replay{Status: judge.Completed, NetPnL: a.net.Trim(0).String(), DecisionHash: hash}
	for key, to := range map[string]**float64{"sharpe_ratio": &s.Best.Sharpe, "total_return": &s.Best.TotalReturn, "max_drawdown": &s.Best.MaxDrawdown} {
		if v, defined := wf.Metrics.Get(key); defined {
			*to = &v
		}
	}
	n, _ := wf.Metrics.Get("total_trades")
	s.Best.Trades = int(n)
	return nil
}

// chosen judges what the searches have found, that on train first.
func (b *bench) chosen(list []*searched) *finding {
	rows, objectives, best := make([]judge.Replay, len(list)), make([]evidence.Objective, len(list)), make([]*float64, len(list))
	for i, s := range list {
		s.Best.Variant, s.Best.Replica = "permuted", i-1
		if i == 0 {
			s.Best.Variant, s.Best.Replica = split.RoleTrain, 0
		}
		rows[i], best[i] = s.Best, s.Objective
		objectives[i] = evidence.Objective{Variant: s.Best.Variant, Replica: s.Best.Replica, Trial: s.Trial, Value: s.Objective}
	}
	f := &finding{Test: b.judge.PermutedPlan(best[0], best[1:], b.Plan.Minimise), on: split.RoleTrain, beside: &rows[0], stressed: middle(rows[1:])}
	f.Params["trials"], f.Params["objective"], f.Params["windows"] = len(b.Plan.Params), b.Plan.Metric, len(b.searchWindows())
	f.replays(rows)
	f.add(evidence.Objectives(objectives))
	return f
}
