package serve

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

// openDataset maps the column files that the host names. Their hashes were checked
// by the host; header, checksum and values are checked here.
func openDataset(p *strategypb.Dataset, symbols []market.Symbol, tf market.Timeframe) (sim.Feed, func(), error) {
	if len(p.GetFiles()) != len(symbols) {
		return nil, nil, &wire.ProtocolError{Field: "dataset.files", Message: fmt.Sprintf("%d files for %d symbols", len(p.GetFiles()), len(symbols))}
	}
	var files []*candlefile.File
	release := func() {
		for _, f := range files {
			_ = f.Close() // nothing was written, nothing can be done about it
		}
	}
	series := make([]*market.Series, len(symbols))
	for i, named := range p.GetFiles() {
		if !filepath.IsAbs(named.GetPath()) {
			release()
			return nil, nil, &wire.ProtocolError{Field: fmt.Sprintf("dataset.files[%d].path", i), Message: "must be absolute"}
		}
		f, s, err := candlefile.Map(named.GetPath(), int(named.GetFirstRow()), int(named.GetRows()))
		if err != nil {
			release()
			return nil, nil, status.Errorf(codes.DataLoss, "candles of %s: %v", symbols[i], err)
		}
		files = append(files, f)
		if s.Timeframe != tf {
			release()
			return nil, nil, status.Errorf(codes.DataLoss, "candles of %s have the timeframe %s, the run has %s", symbols[i], s.Timeframe, tf)
		}
		s.Symbol = symbols[i]
		series[i] = s
	}
	return sim.NewSeriesFeed(series), release, nil
}

// errStopped says that the host asked to stop while the simulation waited for candles.
var errStopped = errors.New("stopped by the host")

// chunkFeed takes the candles out of messages.
type chunkFeed struct {
	box    *inbox
	reader *wire.CandlesReader
	last   bool
	before func() error // of waiting for a chunk: the host sends no more until it knows how far we are
}

func newChunkFeed(box *inbox, first *strategypb.Candles, symbols int) (*chunkFeed, error) {
	f := &chunkFeed{box: box, reader: wire.NewCandlesReader(symbols), last: first.GetLast()}
	return f, f.reader.Load(first)
}

// Next implements sim.Feed.
func (f *chunkFeed) Next(b *sim.Batch) (bool, error) {
	for {
		t, ok := f.reader.Next(b.Candles, b.Closed)
		if ok {
			b.CloseTime = t
			return true, nil
		}
		if f.last {
			return false, nil
		}
		if err := f.load(); err != nil {
			return false, err
		}
	}
}

func (f *chunkFeed) load() error {
	if err := f.before(); err != nil {
		return err
	}
	m, err := f.box.next()
	switch {
	case errors.Is(err, io.EOF):
		return status.Error(codes.FailedPrecondition, "the stream ended before the last chunk of candles")
	case err != nil:
		return err
	case m.GetStop() != nil:
		return errStopped
	case m.GetCandles() == nil:
		return outOfOrder("Candles or Stop", m)
	}
	f.last = m.GetCandles().GetLast()
	return f.reader.Load(m.GetCandles())
}
