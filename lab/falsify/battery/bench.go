package battery

import (
	"context"
	"errors"
	"runtime"
	"sort"

	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
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

	room    *replay.Room
	workers int
	first   []*Play // of the base
	found   map[string]*Finding
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
func (b *Bench) open(ctx context.Context) (err error) {
	b.workers = b.Host.Workers
	if b.workers <= 0 {
		b.workers = runtime.NumCPU()
	}
	if b.room, err = replay.Enter(b.Host.StateDir); err != nil {
		return err
	}
	b.first = []*Play{{
		Part: b.Search, How: request.Replay{ID: split.RoleSearch, Lines: true},
		Done: func(r *request.Replayed) error { b.Played = r; return nil },
	}}
	if err = b.Play(ctx, b.first); err != nil || b.Played.Failure != nil {
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
		Start: b.Question.OpenAt(b.Search.From), End: b.Question.CloseAt(b.Search.To - 1), Lead: int(b.Played.Lead),
	}
	if b.Source, err = replay.Load(ctx, b.Question.Store(), b.Question.Question.Exchange, tf, pins, window); err != nil {
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

func (b *Bench) close() error {
	var err error
	if b.Source != nil {
		err = b.Source.Close()
	}
	if b.room != nil {
		err = errors.Join(err, b.room.Close())
	}
	return err
}

func (b *Bench) count(r *request.Replayed) {
	b.done++
	if r != nil && r.Failure != nil {
		b.failed++
	}
	if b.Progress != nil && b.planned > 0 {
		b.Progress(b.done, b.planned, b.failed)
	}
}

// TrainSet is the candles of the train split with the warm-up before them.
func (b *Bench) TrainSet() replay.Set {
	return replay.Truncate(b.Source.Set, b.Question.CloseAt(b.Train.To-1))
}

// At is the candle of the timeline that closes at a time.
func (b *Bench) At(t market.Time) int {
	return sort.Search(b.Question.Candles(), func(i int) bool { return b.Question.CloseAt(i) >= t })
}

// Refuted reports whether a test has failed.
func (b *Bench) Refuted(id string) bool {
	return b.found[id] != nil && b.found[id].Verdict == judge.Fail
}

// Refused is why a test cannot be made, "" if it can.
func (b *Bench) Refused(id string) string { return b.refused[id] }

// Keep counts replays that an interrupted attack has made already.
func (b *Bench) Keep(replays int) { b.done += int64(replays) }

// Kept reports whether there is a capsule of a kind.
func (b *Bench) Kept(kind capsule.Kind) bool { return b.kept[kind] }

// Note keeps that there is a capsule of a kind; the report names the first one.
func (b *Bench) Note(kind capsule.Kind, n *capsule.Note) {
	if b.kept[kind] = true; b.capsule == nil {
		b.capsule = n
	}
}
