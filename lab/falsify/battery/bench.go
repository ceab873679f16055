package battery

import (
	"context"
	"errors"
	"runtime"

	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/null"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// bench is where the tests are made: the base as it was played here, its candles, and
// what all replays share.
type bench struct {
	Base
	room    *replay.Room
	source  *replay.Source
	workers int

	first []*play           // of the base
	base  *request.Replayed // search, once more
	train *request.Replayed // nil until a test needs it
	run   *null.Run         // of base

	judge   judge.Judge
	found   map[string]*finding
	refused map[string]string // why a test could not be made, by id
	capsule *capsule.Note
	kept    map[capsule.Kind]bool // kinds that there is a capsule of

	sandbox       string // the weakest of all replays
	done, planned int64
	failed        int
}

// open plays the base and takes its candles: those of the search split with the warm-up
// before them, so that none of the test split can get into a replay on changed candles.
// A replay on the candles as they are has the data set of the base: the host takes no
// decision behind the split, but the file that the plugin may read goes on.
func (b *bench) open(ctx context.Context) (err error) {
	b.workers = b.Host.Workers
	if b.workers <= 0 {
		b.workers = runtime.NumCPU()
	}
	if b.room, err = replay.Enter(b.Host.StateDir); err != nil {
		return err
	}
	b.first = []*play{{
		part: b.Search, how: request.Replay{ID: split.RoleSearch, Lines: true},
		done: func(r *request.Replayed) error { b.base = r; return nil },
	}}
	if err = b.play(ctx, b.first); err != nil || b.base.Failure != nil {
		return err
	}
	tf, err := market.ParseTimeframe(b.Question.Question.Timeframe)
	if err != nil {
		return err
	}
	datasets, err := b.Question.Datasets(ctx)
	if err != nil {
		return err
	}
	pins := make([]replay.Pin, len(datasets))
	for i, d := range datasets {
		pins[i] = replay.Pin{Symbol: d.Symbol, SHA256: d.SHA256}
	}
	window := replay.Window{
		Start: b.Question.OpenAt(b.Search.From), End: b.Question.CloseAt(b.Search.To - 1), Lead: int(b.base.Lead),
	}
	if b.source, err = replay.Load(ctx, b.Question.Store(), b.Question.Question.Exchange, tf, pins, window); err != nil {
		return err
	}
	b.run = &null.Run{Input: b.base.Input, Results: b.base.Results}
	for _, c := range b.source.Set {
		inside := c.Series.Slice(c.Series.Search(window.Start), c.Series.Len())
		inside.Symbol = c.Series.Symbol
		b.run.Candles = append(b.run.Candles, inside)
		b.run.VolumeUnits = append(b.run.VolumeUnits, c.Dataset.VolumeUnit)
	}
	return nil
}

// close leaves no file behind.
func (b *bench) close() error {
	var err error
	if b.source != nil {
		err = b.source.Close()
	}
	if b.room != nil {
		err = errors.Join(err, b.room.Close())
	}
	return err
}

// count notes a replay that has ended.
func (b *bench) count(r *request.Replayed) {
	b.done++
	if r != nil && r.Failure != nil {
		b.failed++
	}
	if b.Progress != nil && b.planned > 0 {
		b.Progress(b.done, b.planned, b.failed)
	}
}

// trainSet is the candles of the train split with the warm-up before them.
func (b *bench) trainSet() replay.Set {
	return replay.Truncate(b.source.Set, b.Question.CloseAt(b.Train.To-1))
}
