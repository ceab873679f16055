package battery

import (
	"cmp"
	"context"

	"github.com/assay-run/assay/lab/falsify/judge/lines"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
)

// Check is a test in the making: what must be played, and what is then found.
type Check struct {
	Plays []*Play
	Judge func(context.Context) (*Finding, error)
	// Later is how many replays Judge makes itself.
	Later int64
	// Skip is the reason for which the test does not apply, "" if it does.
	Skip string
}

// Finding is a test with its verdict and the files that it rests on.
type Finding struct {
	*judge.Test
	files []judge.File
	// Rows are the replays that the page draws.
	Rows []judge.Replay
	// Stressed is the replay that stands for the test in the report, and beside what; nil
	// for the base on the search split.
	Stressed, Beside *judge.Replay
	// On is the split that was played, search if empty.
	On string
}

// stress is the line of the report; own is the base.
func (f *Finding) stress(own judge.Replay) artifact.Stress {
	result := func(r *judge.Replay) artifact.StressResult {
		if r == nil || r.NetPnL == "" {
			r = &own
		}
		return artifact.StressResult{SharpeRatio: r.Sharpe, NetPnL: r.NetPnL}
	}
	return artifact.Stress{
		ID: f.ID, SplitID: cmp.Or(f.On, split.RoleSearch), Base: result(f.Beside), Stressed: result(f.Stressed), Verdict: string(f.Verdict), ReasonCode: f.ReasonCode,
	}
}

// Add adds a file of evidence.
func (f *Finding) Add(file judge.File) {
	f.files = append(f.files, file)
	f.Attach(file)
}

// FirstDiff adds where a variant began to differ.
func (f *Finding) FirstDiff(variant string, want, got []byte) error {
	d, differ := lines.First(want, got)
	if !differ {
		return nil
	}
	file, err := judge.FirstDiffs(f.ID, []judge.Difference{{Variant: variant, Diff: d}})
	if err == nil {
		f.Add(file)
	}
	return err
}

// Replays adds replays.csv.
func (f *Finding) Replays(list []judge.Replay) {
	f.Rows = list
	f.Add(judge.Replays(f.ID, list))
}

// RowOf is a replay as replays.csv has it. One that the strategy has no parameters for
// has not been made, and none of its callers keeps it.
func RowOf(variant string, replica int, r *request.Replayed) judge.Replay {
	row := judge.Replay{Variant: variant, Replica: replica, Status: judge.Completed}
	if r.Failure != nil {
		row.Status = judge.Failed
	}
	if r.Results == nil {
		return row
	}
	row.DecisionHash = r.Results.DecisionHash
	if row.Status == judge.Failed {
		return row
	}
	row.Sharpe, row.TotalReturn, row.MaxDrawdown = get(r, "sharpe_ratio"), get(r, "total_return"), get(r, "max_drawdown")
	row.Trades = len(r.Results.Trades)
	if net, err := account.Net(r.Results); err == nil {
		row.NetPnL = net.Trim(0).String()
	}
	return row
}

func get(r *request.Replayed, key string) *float64 {
	if x, defined := r.Metrics.Get(key); defined {
		return &x
	}
	return nil
}

// Rows keeps what list[i] has become, in its place.
func Rows(n int) []judge.Replay { return make([]judge.Replay, n) }

// Own is a check that needs no replay.
func Own(find func(context.Context) (*Finding, error)) (Check, error) { return Check{Judge: find}, nil }

// Spread is a finding of many replays, for which the middle one stands.
func Spread(t *judge.Test, list []judge.Replay) *Finding {
	f := &Finding{Test: t, Stressed: Middle(list)}
	f.Replays(list)
	return f
}

// Middle is the replay with the median Sharpe ratio, the first of several; nil if none
// has a ratio.
func Middle(list []judge.Replay) *judge.Replay {
	var ratios []float64
	for i := range list {
		if list[i].Sharpe != nil {
			ratios = append(ratios, *list[i].Sharpe)
		}
	}
	m, why := stat.Quantile(ratios, 0.5)
	if why != "" {
		return nil
	}
	for i := range list {
		if s := list[i].Sharpe; s != nil && *s == m {
			return &list[i]
		}
	}
	return nil
}

// Changed is a play on changed candles; the row that becomes of it goes into its place.
func (b *Bench) Changed(variant string, replica int, into *judge.Replay, part Part, change func() (replay.Set, error)) *Play {
	id := split.RoleSearch
	if part == b.Train {
		id = split.RoleTrain
	}
	return &Play{On: change, Part: part, How: request.Replay{ID: id, Drive: Quick}, Done: func(r *request.Replayed) error {
		*into = RowOf(variant, replica, r)
		return nil
	}}
}

// Series are plays on so many changes of the search candles.
func (b *Bench) Series(variant string, n int, change func(replay.Set, uint64, uint64) replay.Set) ([]judge.Replay, []*Play) {
	list := Rows(n)
	plays := make([]*Play, n)
	for i := range plays {
		plays[i] = b.Changed(variant, i, &list[i], b.Search, func() (replay.Set, error) { return change(b.Source.Set, b.Seed, uint64(i)), nil })
	}
	return list, plays
}
