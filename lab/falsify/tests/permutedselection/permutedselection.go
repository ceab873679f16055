// Package permutedselection is the test permuted_selection: the whole plan on shuffled train
// candles, and the journal from which an interrupted attack goes on.
package permutedselection

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/battery"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
)

// ID names the test.
const ID = "permuted_selection"

var entry = judge.Entry{
	Number: 23, ID: ID, Version: 1, Class: judge.Gate,
	Claim:  "the search finds more than it finds on shuffled candles",
	Method: "the whole plan on 99 shuffled trains",
}

// Test is the test of this package.
var Test = battery.Test{Entry: entry, Plan: plan, OnlyFull: true}

// MostSearched is how many trials, on all permutations together, permuted_selection plays
// at most. Each is played on five windows.
const MostSearched = 100_000

// better reports whether an objective is better than the best so far; undefined is the worst.
func better(p *battery.Plan, x, best *float64) bool {
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

type place struct {
	Trial  int `json:"trial"`
	Window int `json:"window"`
}

// plan makes the whole plan on permuted train candles: what the search finds
// where there is nothing to be found. Trials are judged as in the plan, by the stitched
// test windows of a walk-forward, here over the train candles.
func plan(b *battery.Bench) (battery.Check, error) {
	switch {
	case !b.Profile.Full:
		return battery.Check{Skip: judge.OnlyWithFull}, nil
	case b.Plan == nil:
		return battery.Check{Skip: judge.NotDeclared}, nil
	}
	return battery.Check{Later: int64(perSearch(b) * (b.Profile.Selections + 1)),
		Judge: func(ctx context.Context) (*battery.Finding, error) {
			return searches(ctx, b)
		}}, nil
}

func perSearch(b *battery.Bench) int { return len(b.Plan.Params) * len(searchWindows(b)) }

// searchWindows are the windows that a search on train is judged by.
func searchWindows(b *battery.Bench) []battery.Part {
	var out []battery.Part
	for _, w := range split.Tests(b.Train.To - b.Train.From) {
		out = append(out, battery.Part{From: b.Train.From + w[0], To: b.Train.From + w[1]})
	}
	return out
}

// searches makes the search on train as it is and on each permutation, one after the
// other, so that one set of candles is there at a time.
func searches(ctx context.Context, b *battery.Bench) (_ *battery.Finding, err error) {
	kept, err := openJournal(b.Journal)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, kept.close()) }()
	set, list := b.CutTrain(), make([]*searched, b.Profile.Selections+1)
	for i := range list {
		if list[i] = kept.found[i]; list[i] != nil && fits(b, list[i]) {
			b.CountKept(perSearch(b))
			continue
		}
		if list[i], err = searchOn(ctx, b, set, i); err != nil {
			return nil, err
		}
		if why := b.FindRefusal(ID); why != "" {
			return &battery.Finding{Test: entry.Broke(why)}, nil
		}
		if err := kept.note(i, list[i]); err != nil {
			return nil, err
		}
	}
	for i, s := range list {
		if s.Failed != nil {
			again := searchPlay(b, s.Failed.Trial, searchWindows(b)[s.Failed.Window])
			again.Failed = true
			if i > 0 {
				again.On = func() (replay.Set, error) { return permuted(set, b.Seed, i), nil }
			}
			if err := b.KeepCrash(ctx, []*battery.Play{again}); err != nil {
				return nil, err
			}
			break
		}
	}
	return chosen(b, list), nil
}

// fits reports whether a search that was kept can be one of this plan.
func fits(b *battery.Bench, s *searched) bool {
	trials, f := len(b.Plan.Params), s.Failed
	return s.Trial >= -1 && s.Trial < trials && (s.Trial < 0) == (s.Objective == nil) &&
		(f == nil || f.Trial >= 0 && f.Trial < trials && f.Window >= 0 && f.Window < len(searchWindows(b)))
}

// permuted is the candles of one search; 0 is that on train as it is.
func permuted(set replay.Set, seed uint64, i int) replay.Set {
	out, _ := replay.Permute(set, seed, uint64(i-1))
	return out
}

func searchOn(ctx context.Context, b *battery.Bench, set replay.Set, i int) (_ *searched, err error) {
	if i == 0 {
		return searchIn(ctx, b, nil)
	}
	m, err := b.EnterMarket(ctx, permuted(set, b.Seed, i))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	return searchIn(ctx, b, m.Prepared)
}

func searchPlay(b *battery.Bench, trial int, window battery.Part) *battery.Play {
	return &battery.Play{
		Test: entry.ID, Part: window,
		How: request.Replay{ID: split.RoleTrain, Params: b.Plan.Params[trial], Drive: battery.Quick,
			Books: true},
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
func searchIn(ctx context.Context, b *battery.Bench, market *request.Prepared) (*searched, error) {
	windows, out := searchWindows(b), &searched{Trial: -1, Best: judge.Replay{Status: judge.Completed}}
	var plays []*battery.Play
	for trial := range b.Plan.Params {
		a := &attempt{inputs: make([]metric.Input, len(windows)), hashes: map[string]string{},
			left: len(windows)}
		for w, window := range windows {
			p := searchPlay(b, trial, window)
			p.Market = market
			p.Done = func(r *request.Replayed) error {
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
	return out, b.RunPlays(ctx, plays)
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
	net, err := account.Net(r.Results)
	if err != nil {
		return err
	}
	a.net, err = a.net.Add(net)
	return err
}

// weigh takes a trial over if it is better than the best so far; of equal ones the first
// of the plan. What is too small for ratios has none, as in the plan.
func (s *searched) weigh(p *battery.Plan, trial int, a *attempt) error {
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
	if !better(p, &x, s.Objective) && (!equal || trial > s.Trial) {
		return nil
	}
	hash, err := digest.Of(a.hashes)
	if err != nil {
		return err
	}
	s.Trial, s.Objective = trial, &x
	s.Best = judge.Replay{Status: judge.Completed, NetPnL: a.net.Trim(0).String(), DecisionHash: hash}
	for key, to := range map[string]**float64{"sharpe_ratio": &s.Best.Sharpe,
		"total_return": &s.Best.TotalReturn, "max_drawdown": &s.Best.MaxDrawdown} {
		if v, defined := wf.Metrics.Get(key); defined {
			*to = &v
		}
	}
	n, _ := wf.Metrics.Get("total_trades")
	s.Best.Trades = int(n)
	return nil
}

// chosen judges what the searches have found, that on train first.
func chosen(b *battery.Bench, list []*searched) *battery.Finding {
	rows, best := make([]judge.Replay, len(list)), make([]*float64, len(list))
	for i, s := range list {
		s.Best.Variant, s.Best.Replica = "permuted", i-1
		if i == 0 {
			s.Best.Variant, s.Best.Replica = split.RoleTrain, 0
		}
		rows[i], best[i] = s.Best, s.Objective
	}
	f := &battery.Finding{Test: Judge(&b.Judge, best[0], best[1:], b.Plan.Minimise), On: split.RoleTrain,
		Beside: &rows[0], Stressed: battery.Middle(rows[1:])}
	f.Params["trials"], f.Params["objective"], f.Params["windows"] = len(b.Plan.Params), b.Plan.Metric,
		len(searchWindows(b))
	f.Replays(rows)
	f.Add(fileOf(list))
	return f
}

// leastObjectives is the fewest permutations with an objective that p = 0.05 can come of.
const leastObjectives = 19

// Judge judges permuted_selection by the best objective of the plan on each
// permutation; best is that on the real candles, nil where it is undefined. Less is better
// where the plan minimises. A permutation on which no trial has an objective has no best
// one: it neither reaches the base nor counts.
func Judge(j *judge.Judge, best *float64, replicas []*float64, minimise bool) *judge.Test {
	t := j.Begin(entry, len(replicas), j.Levels())
	sign, direction := 1.0, ">"
	if minimise {
		sign, direction = -1, "<"
	}
	var found []float64
	for _, x := range replicas {
		if x != nil {
			found = append(found, sign**x)
		}
	}
	t.Params["with_objective"] = len(found)
	none := func(detail string) *judge.Test {
		t.Measure("best_objective", best, stat.Insufficient, direction, nil)
		t.Undefine("p_value", stat.Insufficient)
		return t.End(judge.Inconclusive, string(stat.Insufficient), detail)
	}
	switch {
	case best == nil:
		return none("no trial of the plan has an objective on train")
	case len(found) < leastObjectives:
		return none(fmt.Sprintf("it takes %d shuffled trains with an objective and there are %d of %d",
			leastObjectives, len(found), len(replicas)))
	}
	own := judge.Judge{Base: j.Base, Policy: j.Policy}
	own.Base.Sharpe = judge.Ptr(sign * *best)
	own.ByChance(t, found, nil)
	t.Measure("best_objective", best, "", direction, judge.Ptr(sign**t.Statistic.Threshold))
	return t
}

func fileOf(list []*searched) judge.File {
	s := judge.NewSheet(entry.ID, "objectives.csv", "variant", "replica", "trial_index", "objective")
	for _, x := range list {
		trial := ""
		if x.Trial >= 0 {
			trial = strconv.Itoa(x.Trial)
		}
		s.Row(x.Best.Variant, strconv.Itoa(x.Best.Replica), trial, judge.Optional(x.Objective))
	}
	return s.File()
}

// journal is the file in which permuted_selection notes what it has finished, so that an
// attack that is interrupted goes on where it was. One belongs to one request, which has
// all that its numbers depend on.
type journal struct {
	found map[int]*searched
	file  *os.File // nil: nothing is kept
}

// line is a line of the journal; Search 0 is that on the candles as they are.
type line struct {
	Search int `json:"search"`
	*searched
}

// openJournal reads what there is at a path, up to the first line that was not written to
// its end. With an empty path nothing is kept.
func openJournal(path string) (_ *journal, err error) {
	j := &journal{found: map[int]*searched{}}
	if path == "" {
		return j, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if j.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(j.file)
	if err == nil {
		sound := j.read(text)
		if err = j.file.Truncate(sound); err == nil {
			_, err = j.file.Seek(sound, io.SeekStart)
		}
	}
	if err != nil {
		return nil, errors.Join(err, j.file.Close())
	}
	return j, nil
}

// read takes the lines that are whole and returns how many bytes they are.
func (j *journal) read(text []byte) (sound int64) {
	for raw := range bytes.Lines(text) {
		e := line{searched: &searched{}}
		if !bytes.HasSuffix(raw, []byte("\n")) || json.Unmarshal(raw, &e) != nil || e.Search < 0 {
			break
		}
		j.found[e.Search] = e.searched
		sound += int64(len(raw))
	}
	return sound
}

// note adds a search. It is on the disk when note returns.
func (j *journal) note(i int, s *searched) error {
	if j.file == nil {
		return nil
	}
	text, err := json.Marshal(line{i, s})
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(text, '\n')); err != nil {
		return err
	}
	return j.file.Sync()
}

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}
