// Package replay makes the candles on which the battery plays a strategy again: poisoned
// after a cut, continued past their end, noisy, with gaps, shuffled, reversed, on another
// scale, at another time, under other names.
//
// Load takes the candles of the base run out of the store, and of those only what the
// range in request needs: what lies behind the range cannot get into a replay, not even
// by mistake. Each change is a function from a Set to a new Set; the columns of the old
// one are never written. What is random comes from the stream of its purpose and the
// number of the replica, so that replica 17 has the same candles whoever makes it. No
// change needs math.Exp or math.Log: every CPU makes the same candles.
//
// A Workdir is where the changed candles become files: one folder of one process below
// <state_dir>/tmp/falsify, in which every Store has a folder of its own until it is
// closed. The folder is locked; what a killed process has left is removed by the next
// that enters.
//
// It imports host/candle, host/base/file, the SDK's market and candle files, and
// packages candle and random of lab/stat. Nothing here starts a plugin.
package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Candles are those of one symbol, as stored or changed.
type Candles struct {
	// Dataset is where they come from: exchange, calendar, price step and volume unit stay
	// true of changed candles, hash and counts do not.
	Dataset candle.Dataset
	// Series has its Symbol. Its columns may be mapped and are never written.
	Series *market.Series
}

// Set is the candles of one replay by symbol, in the order of the request. A change of
// a Set is a new one.
type Set []Candles

// Window is the part of the data that a replay may know: the candles that open in [Start, End),
// and of each symbol at most Lead earlier ones to warm up with. A Start of 0 is the first
// candle. End has no default: later candles must stay unseen.
type Window struct {
	Start, End market.Time
	Lead       int
}

func (w Window) rows(s *market.Series) (from, to int) {
	if w.Start != 0 {
		from = s.Search(w.Start)
	}
	to = s.Search(w.End)
	return max(from-w.Lead, 0), max(to, from)
}

// Joint reports whether all symbols have candles at the same times.
func (s Set) Joint() bool {
	for i := range s {
		if !slices.Equal(s[i].Series.Time, s[0].Series.Time) {
			return false
		}
	}
	return true
}

// Begun is the close of the step by which every symbol has had a candle: no cut can be
// earlier. It is 0 for an empty set.
func (s Set) Begun() market.Time {
	latest := market.Time(0)
	for i := range s {
		latest = max(latest, s[i].Series.CloseTime(0))
	}
	return latest
}

// Truncate keeps what has closed by the cut, the close time of a step not before Begun.
func Truncate(set Set, cut market.Time) Set {
	return set.each(func(c Candles) *market.Series { return c.Series.Slice(0, closedBy(c.Series, cut)) })
}

// each is the set with every series changed.
func (s Set) each(change func(Candles) *market.Series) Set {
	out := slices.Clone(s)
	for i := range out {
		out[i].Series = change(out[i])
	}
	return out
}

// closedBy counts the candles of a series that have closed by a time.
func closedBy(s *market.Series, at market.Time) int {
	n := s.Search(at) // one that opens then or later has not closed
	for n > 0 && s.CloseTime(n-1) > at {
		n--
	}
	return n
}

func clone(s *market.Series) *market.Series {
	out := *s
	out.Time = slices.Clone(s.Time)
	out.Open, out.High, out.Low = slices.Clone(s.Open), slices.Clone(s.High), slices.Clone(s.Low)
	out.Close, out.Volume = slices.Clone(s.Close), slices.Clone(s.Volume)
	return &out
}

// Pin is the dataset of one symbol, by the hash of its file.
type Pin struct {
	Symbol market.Symbol
	SHA256 string
}

// Source is the candles of a base run as they stand in the store.
type Source struct {
	// Set aliases the mapped files: it may not be touched after Close, nor may what
	// Truncate made of it.
	Set   Set
	files []*candlefile.File
}

// Load opens what the window admits of the pinned candles. The error is a *candle.NotFoundError, a
// *candlefile.CorruptError, or that of a window that is open or without candles.
func Load(ctx context.Context, from *candle.Store, exchange string, tf market.Timeframe, pins []Pin,
	w Window) (_ *Source, err error) {
	if w.End <= w.Start || w.Lead < 0 {
		return nil, fmt.Errorf("a replay needs a window with an end after its start, not [%s, %s)", w.Start,
			w.End)
	}
	src := &Source{}
	defer func() {
		if err != nil {
			err = errors.Join(err, src.Close())
		}
	}()
	for _, pin := range pins {
		d, err := from.Pinned(ctx, exchange, pin.Symbol, tf, pin.SHA256)
		if err != nil {
			return nil, err
		}
		f, err := from.OpenSeries(d)
		if err != nil {
			return nil, err
		}
		src.files = append(src.files, f)
		all := f.Series()
		a, b := w.rows(all)
		if a == b {
			return nil, fmt.Errorf("%s has no candle from %s to %s", pin.Symbol, w.Start, w.End)
		}
		part := all.Slice(a, b)
		part.Symbol = pin.Symbol
		src.Set = append(src.Set, Candles{Dataset: d, Series: part})
	}
	return src, nil
}

// Close gives the mapped files back.
func (s *Source) Close() error {
	var err error
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	s.files, s.Set = nil, nil
	return err
}

// Workdir is the folder of one process in which changed candles become files. Its methods
// may be called from several goroutines, but for Close.
type Workdir struct{ *file.Workdir }

// NewWorkdir makes a folder below the state directory and removes those that killed processes
// have left.
func NewWorkdir(stateDir string) (*Workdir, error) {
	workdir, err := file.NewWorkdir(filepath.Join(stateDir, "tmp", "falsify"))
	if err != nil {
		return nil, err
	}
	return &Workdir{workdir}, nil
}

// Store is the candles of one set, as a store that a run can be played on.
type Store struct {
	*candle.Store
	dir string
}

// Put writes the set. Close the store when its runs are over.
func (r *Workdir) Put(ctx context.Context, set Set) (_ *Store, err error) {
	dir, err := os.MkdirTemp(r.Dir(), "set-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	requests := make([]candle.PutRequest, len(set))
	for i, c := range set {
		requests[i] = candle.PutRequest{
			Exchange: c.Dataset.Exchange, Series: c.Series, Calendar: c.Dataset.Calendar,
			VolumeUnit: c.Dataset.VolumeUnit, PriceStep: c.Dataset.PriceStep,
		}
		requests[i].Report.Inherit(c.Dataset.Report.Report)
	}
	store, err := candle.Temporary(ctx, dir, requests)
	if err != nil {
		return nil, err
	}
	return &Store{store, dir}, nil
}

// Close removes the files.
func (s *Store) Close() error { return errors.Join(s.Store.Close(), os.RemoveAll(s.dir)) }
