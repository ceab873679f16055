package battery

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sort"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/falsify/judge/lines"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Bench is where the tests are made: the base as it was played here, its candles, and
// what all replays share.
type Bench struct {
	Base
	Source *replay.Source
	// Played is the search split of the base once more, Run what it did with its market.
	Played *request.Replayed
	Run    *account.Run
	Judge  judge.Judge

	workdir *replay.Workdir
	workers int
	here    chan struct{} // a place for each replay that is made here beside those of a queue
	settled bool          // nothing has been found that shakes the first tests
	forks   run.Sessions
	first   []*Play // of the base
	found   map[string]*Finding
	refused map[string]string // why a test could not be made, by id
	capsule *capsule.Note
	kept    map[capsule.Kind]bool // kinds that there is a capsule of

	sandbox       string // the weakest of all replays
	done, planned int64
	failed        int
}

// openBase plays the base and takes its candles: those of the search split with the warm-up
// before them, so that none of the test split can get into a replay on changed candles.
// A replay on the candles as they are has the data set of the base: the host takes no
// decision behind the split, but the file that the plugin may read goes on.
func (b *Bench) openBase(ctx context.Context) (err error) {
	b.forks.Forks = true
	b.workers = b.Host.Workers
	if b.workers <= 0 {
		b.workers = runtime.NumCPU()
	}
	b.here = make(chan struct{}, b.workers)
	if b.workdir, err = replay.NewWorkdir(b.Host.StateDir); err != nil {
		return err
	}
	b.first = []*Play{{
		Part: b.Search, How: request.Replay{ID: split.RoleSearch, Lines: true, Books: true},
		Done: func(r *request.Replayed) error { b.Played = r; return nil },
	}}
	if err = b.RunPlays(ctx, b.first); err != nil || b.Played.Failure != nil {
		return err
	}
	tf, err := market.ParseTimeframe(b.Prepared.Request.Timeframe)
	if err != nil {
		return err
	}
	datasets, err := b.Prepared.Datasets(ctx)
	if err != nil {
		return err
	}
	pins := make([]replay.Pin, len(datasets))
	for i, d := range datasets {
		pins[i] = replay.Pin{Symbol: d.Symbol, SHA256: d.SHA256}
	}
	window := replay.Window{
		Start: b.Prepared.OpenAt(b.Search.From), End: b.Prepared.CloseAt(b.Search.To - 1),
		Lead: int(b.Played.Lead),
	}
	if b.Source,
		err = replay.Load(ctx, b.Prepared.Store(), b.Prepared.Request.Exchange, tf, pins,
		window); err != nil {
		return err
	}
	b.Run = &account.Run{Input: b.Played.Input, Results: b.Played.Results}
	for _, c := range b.Source.Set {
		inside := c.Series.Slice(c.Series.Search(window.Start), c.Series.Len())
		inside.Symbol = c.Series.Symbol
		b.Run.Candles = append(b.Run.Candles, inside)
		b.Run.VolumeUnits = append(b.Run.VolumeUnits, c.Dataset.VolumeUnit)
	}
	return nil
}

func (b *Bench) closeAll() error {
	err := b.forks.Close()
	if b.Source != nil {
		err = errors.Join(err, b.Source.Close())
	}
	if b.workdir != nil {
		err = errors.Join(err, b.workdir.Close())
	}
	return err
}

func (b *Bench) countReplay(r *request.Replayed) {
	b.done++
	if r != nil && r.Failure != nil {
		b.failed++
	}
	if b.Progress != nil && b.planned > 0 {
		b.Progress(b.done, b.planned, b.failed)
	}
}

// CutTrain is the candles of the train split with the warm-up before them.
func (b *Bench) CutTrain() replay.Set {
	return replay.Truncate(b.Source.Set, b.Prepared.CloseAt(b.Train.To-1))
}

// FindCandle is the candle of the timeline that closes at a time.
func (b *Bench) FindCandle(t market.Time) int {
	return sort.Search(b.Prepared.Candles(), func(i int) bool { return b.Prepared.CloseAt(i) >= t })
}

// IsRefuted reports whether a test has failed.
func (b *Bench) IsRefuted(id string) bool {
	return b.found[id] != nil && b.found[id].Verdict == judge.Fail
}

// FindRefusal is why a test cannot be made, "" if it can.
func (b *Bench) FindRefusal(id string) string { return b.refused[id] }

// CountKept counts replays that an interrupted attack has made already.
func (b *Bench) CountKept(replays int) { b.done += int64(replays) }

// HasCapsule reports whether there is a capsule of a kind.
func (b *Bench) HasCapsule(kind capsule.Kind) bool { return b.kept[kind] }

// KeepCapsule keeps that there is a capsule of a kind; the report names the first one.
func (b *Bench) KeepCapsule(kind capsule.Kind, n *capsule.Note) {
	if b.kept[kind] = true; b.capsule == nil {
		b.capsule = n
	}
}

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
		ID: f.ID, SplitID: cmp.Or(f.On, split.RoleSearch), Base: result(f.Beside),
		Stressed: result(f.Stressed), Verdict: string(f.Verdict), ReasonCode: f.ReasonCode,
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
	row.Sharpe, row.TotalReturn, row.MaxDrawdown = get(r, "sharpe_ratio"), get(r, "total_return"),
		get(r, "max_drawdown")
	row.Trades = r.Trades
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

// Own is a check that needs no replay.
func Own(find func() (*Finding, error)) (Check, error) {
	return Check{Judge: func(context.Context) (*Finding, error) { return find() }}, nil
}

// After is a check of what plays have become.
func After(plays []*Play, find func() *Finding) (Check, error) {
	return Check{Plays: plays, Judge: func(context.Context) (*Finding, error) { return find(), nil }}, nil
}

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

// PlanChanged is a play on changed candles; the row that becomes of it goes into its place.
func (b *Bench) PlanChanged(variant string, replica int, into *judge.Replay, part Part,
	change func() (replay.Set, error)) *Play {
	id := split.RoleSearch
	if part == b.Train {
		id = split.RoleTrain
	}
	return &Play{On: change, Part: part, How: request.Replay{ID: id, Drive: Quick},
		Done: func(r *request.Replayed) error {
			*into = RowOf(variant, replica, r)
			return nil
		}}
}

// PlanSeries are plays on so many changes of the search candles.
func (b *Bench) PlanSeries(variant string, n int,
	change func(replay.Set, uint64, uint64) replay.Set) ([]judge.Replay, []*Play) {
	list := make([]judge.Replay, n)
	plays := make([]*Play, n)
	for i := range plays {
		plays[i] = b.PlanChanged(variant, i, &list[i], b.Search, func() (replay.Set, error) {
			return change(b.Source.Set, b.Seed, uint64(i)), nil
		})
	}
	return list, plays
}
