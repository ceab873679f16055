package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// How history is asked.
const (
	pageLimit    = 1000
	answersAsked = 3 // that lack a candle before it counts as missing
	answerPause  = time.Second
	askDeadline  = 10 * time.Second
	maxBackoff   = 10 * time.Second
)

// fill takes from history what opens in [t.next, to). Candles that open before must are
// asked for three times and then declared missing; so is every hole before a later one.
func (f *Feed) fill(ctx context.Context, t *track, to, must market.Time) error {
	if to <= t.next {
		return nil
	}
	got, err := f.collect(ctx, t, t.next, to, must)
	if err != nil {
		return err
	}
	for _, c := range got {
		if !t.old(&c) {
			f.missing(t, c.OpenTime)
			t.take(c, Backfill)
		}
	}
	f.missing(t, must)
	t.settle(must, !f.cfg.Stored)
	return nil
}

// missing raises the alarm for what lies between the candle wanted and a later one.
// Stored candles have the holes that their market had.
func (f *Feed) missing(t *track, to market.Time) {
	if f.cfg.Stored || to <= t.next {
		return
	}
	n := slots(f.cfg.Timeframe, t.next, to)
	f.alarm(Alarm{Code: CandleMissing, Symbol: t.symbol, From: t.next, To: to, Candles: n,
		Message: fmt.Sprintf("the exchange has no candle of %s from %s to %s (%d)", t.symbol, t.next, to, n)})
}

// collect asks until the answer is whole, or often enough. What one answer had and the
// next has not is kept.
func (f *Feed) collect(ctx context.Context, t *track, from, to, must market.Time) ([]market.Candle, error) {
	var got []market.Candle
	for answers := 1; ; answers++ {
		more, err := f.pages(ctx, t, from, to)
		if err != nil {
			return nil, err
		}
		got = join(got, more)
		if f.cfg.Stored || answers == answersAsked || f.whole(got, from, must) {
			return got, nil
		}
		if !exchange.Pause(ctx, f.cfg.Clock.Wall(answerPause)) {
			return nil, context.Cause(ctx)
		}
	}
}

// whole says that candles follow each other without a hole up to must at least.
func (f *Feed) whole(got []market.Candle, next, must market.Time) bool {
	for _, c := range got {
		if c.OpenTime != next {
			return false
		}
		next = c.CloseTime
	}
	return next >= must
}

// pages reads [from, to) page by page, valid candles only.
func (f *Feed) pages(ctx context.Context, t *track, from, to market.Time) ([]market.Candle, error) {
	var got []market.Candle
	for from < to {
		page, err := f.ask(ctx, exchange.CandleQuery{Symbol: t.symbol, From: from, To: to, Limit: pageLimit})
		if err != nil {
			return nil, err
		}
		begun := from
		for _, c := range page {
			if c.OpenTime < begun || c.OpenTime >= to {
				continue
			}
			from = max(from, c.OpenTime+1)
			if reason := f.unsound(&c); reason != "" {
				if err := f.invalid(t, &c, reason); err != nil {
					return nil, err
				}
				continue
			}
			t.bad = 0
			got = append(got, c)
			from = max(from, c.CloseTime)
		}
		if from == begun {
			break
		}
	}
	return join(got, nil), nil
}

// ask makes one request, again and again until it is answered: a request that failed says
// nothing about the candles. A definite refusal is an error.
func (f *Feed) ask(ctx context.Context, q exchange.CandleQuery) ([]market.Candle, error) {
	backoff := answerPause
	for failed := false; ; {
		limited, cancel := context.WithTimeout(ctx, askDeadline)
		page, err := f.data.Candles(limited, q)
		cancel()
		if err == nil {
			return page, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		wait := backoff
		if refused := new(exchange.Error); errors.As(err, &refused) {
			if o := refused.Result.Outcome; o == exchange.Rejected || o == exchange.AuthFailed || o == exchange.NotFound {
				return nil, err
			}
			wait = max(wait, time.Duration(refused.Result.RetryAfterMS)*time.Millisecond)
		}
		if !failed {
			failed = true
			f.alarm(Alarm{Code: CandleUnreachable, Symbol: q.Symbol, From: q.From, To: q.To,
				Message: fmt.Sprintf("the exchange does not say its candles of %s, asking on: %v", q.Symbol, err)})
		}
		if !exchange.Pause(ctx, wait) {
			return nil, context.Cause(ctx)
		}
		backoff = min(2*backoff, maxBackoff)
	}
}
