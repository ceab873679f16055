package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

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

// Load opens what the window admits of the pinned candles. The error is a
// *candle.NotFoundError, a *candlefile.CorruptError, or says that the window is open or
// without candles.
func Load(ctx context.Context, from *candle.Store, exchange string, tf market.Timeframe, pins []Pin, w Window) (_ *Source, err error) {
	if w.End <= w.Start || w.Lead < 0 {
		return nil, fmt.Errorf("a replay needs a window with an end after its start, not [%s, %s)", w.Start, w.End)
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
