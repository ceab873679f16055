package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// tape is the candles of one symbol, those to come included.
type tape interface {
	// index is the first candle that opens at or after t.
	index(t market.Time) int
	// at is a candle; false behind the last.
	at(i int) (market.Candle, bool)
	tick() decimal.Decimal
}

// stored is a tape of the candle store.
type stored struct {
	series *market.Series
	step   decimal.Decimal
	file   *candlefile.File
}

func openStored(ctx context.Context, store *candle.Store, source string, symbol market.Symbol, tf market.Timeframe) (*stored, error) {
	set, err := store.Lookup(ctx, source, symbol, tf)
	if err != nil {
		return nil, err
	}
	file, err := store.OpenSeries(set)
	if err != nil {
		return nil, err
	}
	return &stored{series: file.Series(), step: set.PriceStep, file: file}, nil
}

func (s *stored) index(t market.Time) int { return s.series.Search(t) }

func (s *stored) at(i int) (market.Candle, bool) {
	if i >= s.series.Len() {
		return market.Candle{}, false
	}
	return s.series.At(i), true
}

func (s *stored) tick() decimal.Decimal { return s.step }

// openReplay opens the candles of every symbol that the store has; the others stay nil.
func openReplay(ctx context.Context, store *candle.Store, source string, symbols []market.Symbol, tf market.Timeframe) ([]tape, error) {
	if store == nil {
		return nil, errors.New("there is no candle store to replay from; use market synthetic")
	}
	tapes := make([]tape, len(symbols))
	for i, symbol := range symbols {
		s, err := openStored(ctx, store, source, symbol, tf)
		if none := new(candle.NotFoundError); errors.As(err, &none) && none.What == "symbol" {
			continue
		} else if err != nil {
			closeTapes(tapes)
			return nil, err
		}
		tapes[i] = s
	}
	return tapes, nil
}

func closeTapes(tapes []tape) {
	for _, t := range tapes {
		if s, ok := t.(*stored); ok {
			_ = s.file.Close() // read-only
		}
	}
}

// replayStart is where a replay begins: where it is told to, at the default where the
// candles have it, else behind some candles to warm up on.
func replayStart(tapes []tape, asked market.Time) (market.Time, error) {
	var from, first, last market.Time
	for _, t := range tapes {
		s, ok := t.(*stored)
		if !ok {
			continue
		}
		n := s.series.Len()
		from = max(from, s.series.Time[min(historyCandles, n/2)])
		last = max(last, s.series.CloseTime(n-1))
		if first == 0 || s.series.Time[0] < first {
			first = s.series.Time[0]
		}
	}
	usual, _ := market.ParseTime(defaultStart)
	switch {
	case asked != 0 && asked < last:
		return asked, nil
	case asked != 0:
		return 0, fmt.Errorf("exchange_config: start is behind the stored candles, which go from %s to %s", first, last)
	case first < usual && usual < last:
		return usual, nil
	}
	return from, nil
}
