package series

import (
	"context"
	"sort"
	"sync"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Candles tells what holding has returned, from the candles of a store. Its methods may
// be called from several goroutines.
type Candles struct {
	store *candle.Store

	mu    sync.Mutex
	known map[string]closes // by hash of the file
}

// closes are the close times and closes of one symbol.
type closes struct {
	time  []market.Time
	price []float64
}

// NewCandles reads from a store, which stays the caller's.
func NewCandles(store *candle.Store) *Candles {
	return &Candles{store: store, known: map[string]closes{}}
}

// Holding is, for each pair of times, the mean over the datasets of what their symbol has
// returned between the last closes at or before either: an equal-weight holding that is
// rebalanced at each of the times. A symbol whose candles begin later is not held yet;
// with none, the return is 0. from and to have one length.
func (c *Candles) Holding(ctx context.Context, exchange string, data []artifact.Dataset, from, to []market.Time) ([]float64, error) {
	sums, held := make([]stat.Accumulator, len(from)), make([]float64, len(from))
	for _, d := range data {
		p, err := c.closes(ctx, exchange, d)
		if err != nil {
			return nil, err
		}
		for i := range from {
			if a, b := p.before(from[i]), p.before(to[i]); a >= 0 && b >= 0 {
				sums[i].Add(p.price[b]/p.price[a] - 1)
				held[i]++
			}
		}
	}
	out := make([]float64, len(from))
	for i := range out {
		if held[i] > 0 {
			out[i] = sums[i].Value() / held[i]
		}
	}
	return out, nil
}

// before is the index of the last close at or before t, -1 if there is none.
func (p closes) before(t market.Time) int {
	return sort.Search(len(p.time), func(i int) bool { return p.time[i] > t }) - 1
}

func (c *Candles) closes(ctx context.Context, exchange string, d artifact.Dataset) (closes, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, has := c.known[d.SHA256]; has {
		return p, nil
	}
	tf, err := market.ParseTimeframe(d.Timeframe)
	if err != nil {
		return closes{}, err
	}
	set, err := c.store.Pinned(ctx, exchange, market.Symbol(d.Symbol), tf, d.SHA256)
	if err != nil {
		return closes{}, err
	}
	file, err := c.store.OpenSeries(set)
	if err != nil {
		return closes{}, err
	}
	s := file.Series()
	p := closes{make([]market.Time, s.Len()), make([]float64, s.Len())}
	for i := range p.time {
		p.time[i], p.price[i] = s.CloseTime(i), s.Close[i]
	}
	if err := file.Close(); err != nil {
		return closes{}, err
	}
	c.known[d.SHA256] = p
	return p, nil
}
