package replay

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Room is the folder of one process in which changed candles become files. Its methods
// may be called from several goroutines, but for Close.
type Room struct{ *file.Workdir }

// Enter makes a room below the state directory and removes those that killed processes
// have left.
func Enter(stateDir string) (*Room, error) {
	room, err := file.NewWorkdir(filepath.Join(stateDir, "tmp", "falsify"))
	if err != nil {
		return nil, err
	}
	return &Room{room}, nil
}

// Folder makes an empty folder in the room. Remove it when it is not needed any more.
func (r *Room) Folder() (string, error) { return os.MkdirTemp(r.Dir(), "folder-") }

// Store is the candles of one set, as a store that a run can be played on.
type Store struct {
	*candle.Store
	// Pins are the hashes of the files by symbol.
	Pins map[market.Symbol]string
	dir  string
}

// Put writes the set. Close the store when its runs are over.
func (r *Room) Put(ctx context.Context, set Set) (_ *Store, err error) {
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
			Exchange: c.Dataset.Exchange, Series: c.Series, Calendar: c.Dataset.Calendar, VolumeUnit: c.Dataset.VolumeUnit, PriceStep: c.Dataset.PriceStep,
		}
		requests[i].Report.Inherit(c.Dataset.Report.Report)
	}
	store, err := candle.Temporary(ctx, dir, requests)
	if err != nil {
		return nil, err
	}
	out := &Store{Store: store, Pins: map[market.Symbol]string{}, dir: dir}
	for _, c := range set {
		d, err := store.Lookup(ctx, c.Dataset.Exchange, c.Series.Symbol, c.Series.Timeframe)
		if err != nil {
			return nil, err
		}
		out.Pins[c.Series.Symbol] = d.SHA256
	}
	return out, nil
}

// Close removes the files.
func (s *Store) Close() error { return errors.Join(s.Store.Close(), os.RemoveAll(s.dir)) }
