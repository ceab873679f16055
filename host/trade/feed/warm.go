package feed

import (
	"context"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// maxWiden is how many times the span of a warm-up grows while candles lack that the
// holes of a stored market may hide.
const maxWiden = 3

// Warm delivers the last candles that have closed, up to the given number of each symbol,
// as steps, and returns how many. Fewer are no error. Run goes on behind them.
func (f *Feed) Warm(ctx context.Context, data exchange.Data, candles int) (int, error) {
	f.data = data
	edge := f.edge()
	if candles <= 0 {
		f.begin(edge)
		return 0, nil
	}
	for _, t := range f.tracks {
		got, err := f.last(ctx, t, edge, candles)
		if err != nil {
			return 0, err
		}
		for i, c := range got {
			if i > 0 {
				f.missing(t, c.OpenTime)
			}
			t.take(c, Warmup)
		}
		if len(got) > 0 {
			f.missing(t, edge)
		}
	}
	f.begin(edge)
	steps := 0
	for at := f.waiting(); at != 0; at = f.waiting() {
		if err := f.deliver(ctx, at); err != nil {
			return steps, err
		}
		steps++
	}
	return steps, nil
}

// last are the newest n candles that open before edge.
func (f *Feed) last(ctx context.Context, t *track, edge market.Time, n int) ([]market.Candle, error) {
	span := time.Duration(n) * f.cfg.Timeframe.Approx()
	for grown := 0; ; grown++ {
		from := edge.Add(-span)
		if !f.cfg.Stored {
			from = floor(f.cfg.Timeframe, from)
		}
		got, err := f.collectLast(ctx, t, from, edge)
		if err != nil {
			return nil, err
		}
		if len(got) > n {
			got = got[len(got)-n:]
		}
		if len(got) == n || !f.cfg.Stored || grown == maxWiden {
			return got, nil
		}
		span *= 2
	}
}

// collectLast is collect for a stretch that may begin before the symbol did.
func (f *Feed) collectLast(ctx context.Context, t *track, from, edge market.Time) ([]market.Candle, error) {
	first, err := f.pages(ctx, t, from, edge)
	if err != nil || len(first) == 0 || f.cfg.Stored || f.whole(first, first[0].OpenTime, edge) {
		return first, err
	}
	if !exchange.Pause(ctx, f.cfg.Clock.Wall(answerPause)) {
		return nil, context.Cause(ctx)
	}
	rest, err := f.collect(ctx, t, first[0].OpenTime, edge, edge)
	return join(first, rest), err
}
