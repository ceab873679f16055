package feed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// Source is where a candle came from.
type Source string

// The sources.
const (
	Warmup   Source = "warmup"
	Stream   Source = "stream"
	Backfill Source = "backfill"
)

// Step is the candles that closed at one moment, as the simulator takes them. Its slices
// belong to the receiver.
type Step struct {
	sim.Batch
	// Sources of the candles; empty where none closed.
	Sources []Source
	// Alarms raised since the step before.
	Alarms []Alarm
}

// Offer is a step on its way to whoever decides it.
type Offer struct {
	Step *Step
	done chan struct{} // closed when it was answered; nil: the feed does not wait for that
}

// Answered lets the feed go on, once.
func (o *Offer) Answered() {
	if o.done != nil {
		close(o.done)
		o.done = nil
	}
}

// Offers hands the steps of a feed over to another goroutine, one at a time.
type Offers chan Offer

// Step implements Config.Step: it waits until the step was taken and answered.
func (c Offers) Step(ctx context.Context, s *Step) error {
	o := Offer{s, make(chan struct{})}
	select {
	case c <- o:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-o.done:
	case <-ctx.Done(): // it was taken, so it must not come again
	}
	return nil
}

// Short returns how many candles from the run's first on are missing of the warm-up: of the symbol
// with the fewest.
func (f *Feed) Short() int { return f.short }

// The codes of alarms.
const (
	// CandleCorrected: the venue sent another version of a candle; the first is kept.
	CandleCorrected = "CANDLE_CORRECTED"
	// CandleMissing: the venue's history lacks candles.
	CandleMissing = "CANDLE_MISSING"
	// CandleInvalid: a candle that cannot be one was dropped.
	CandleInvalid = "CANDLE_INVALID"
	// CandleUnreachable: history does not answer; it is asked until it does.
	CandleUnreachable = "CANDLE_UNREACHABLE"
)

// Alarm is something that the user of a run should know about its candles.
type Alarm struct {
	Code   string
	Symbol market.Symbol
	// From and To bound the open times concerned; To is exclusive. Candles counts them.
	From, To market.Time
	Candles  int
	Message  string
}

// DataError ends a run: three candles in a row were none (DATA_ERROR).
type DataError struct {
	Symbol   market.Symbol
	OpenTime market.Time
	Reason   string
}

// Error names the last of them.
func (e *DataError) Error() string {
	return fmt.Sprintf("three candles of %s in a row are invalid, the last at %s: %s", e.Symbol, e.OpenTime,
		e.Reason)
}

// monday is the first one of Unix time: weeks begin there.
const monday = market.Time(4 * 24 * time.Hour / time.Millisecond)

// floor returns the last open time of the timeframe's grid that is not after t: multiples of
// the timeframe since 1970, for weeks since its first Monday, for months since year 0.
func floor(tf market.Timeframe, t market.Time) market.Time {
	if tf.Unit == 'M' {
		at := t.Time()
		months := at.Year()*12 + int(at.Month()) - 1
		months -= months % tf.Count
		return market.FromTime(time.Date(months/12, time.Month(months%12+1), 1, 0, 0, 0, 0, time.UTC))
	}
	anchor := market.Time(0)
	if tf.Unit == 'w' {
		anchor = monday
	}
	span := market.Time(tf.Duration() / time.Millisecond)
	rest := (t - anchor) % span
	if rest < 0 {
		rest += span
	}
	return t - rest
}

// slots counts the open times in [from, to).
func slots(tf market.Timeframe, from, to market.Time) int {
	if span := market.Time(tf.Duration() / time.Millisecond); span > 0 {
		return int(max(0, (to-from+span-1)/span))
	}
	n := 0
	for ; from < to; from = tf.Next(from) {
		n++
	}
	return n
}

// unsound returns what is wrong with a candle; "" if it is one. Stored candles were checked
// when they were imported and may lie off the grid.
func (f *Feed) unsound(c *market.Candle) string {
	for _, x := range [...]float64{c.Open, c.High, c.Low, c.Close, c.Volume} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return "a number is not finite"
		}
	}
	switch {
	case c.Open <= 0 || c.High <= 0 || c.Low <= 0 || c.Close <= 0:
		return "a price is not above 0"
	case c.Volume < 0:
		return "the volume is negative"
	case c.High < c.Low:
		return "the high is below the low"
	case c.CloseTime <= c.OpenTime:
		return "it closes before it opens"
	case f.cfg.Stored:
		return ""
	case c.High < max(c.Open, c.Close) || c.Low > min(c.Open, c.Close):
		return "open or close lies outside low and high"
	case floor(f.cfg.Timeframe, c.OpenTime) != c.OpenTime || f.cfg.Timeframe.Next(c.OpenTime) != c.CloseTime:
		return "its times are off the grid of the timeframe"
	case c.CloseTime > f.cfg.Clock.Now().Add(maxSkew):
		return "it has not closed yet"
	}
	return ""
}

// recentCandles is how many candles a late version is compared with.
const recentCandles = 1024

// track is what is known of one symbol.
type track struct {
	index  int
	symbol market.Symbol
	// next is the open time wanted next; settled the close time up to which all candles
	// are known, those that do not exist included.
	next, settled market.Time
	queue         []queued        // taken, not in a step yet
	recent        []market.Candle // taken, ascending
	bad           int             // invalid candles in a row
}

type queued struct {
	market.Candle
	source Source
}

// take appends a candle that opens at or after next.
func (t *track) take(c market.Candle, source Source) {
	t.bad = 0
	t.queue = append(t.queue, queued{c, source})
	t.next, t.settled = c.CloseTime, max(t.settled, c.CloseTime)
	if len(t.recent) >= 2*recentCandles {
		t.recent = append(t.recent[:0], t.recent[len(t.recent)-recentCandles:]...)
	}
	t.recent = append(t.recent, c)
}

// old reports whether a candle is none to wait for any more.
func (t *track) old(c *market.Candle) bool { return c.OpenTime < t.next || c.CloseTime <= t.settled }

// lacks reports whether an old candle opens after one that was taken and is none of them.
func (t *track) lacks(c *market.Candle) bool {
	i := sort.Search(len(t.recent), func(i int) bool { return t.recent[i].OpenTime >= c.OpenTime })
	return i > 0 && (i == len(t.recent) || t.recent[i].OpenTime != c.OpenTime)
}

// differs reports whether another version of a candle has been taken.
func (t *track) differs(c *market.Candle) bool {
	i := sort.Search(len(t.recent), func(i int) bool { return t.recent[i].OpenTime >= c.OpenTime })
	return i < len(t.recent) && t.recent[i].OpenTime == c.OpenTime && t.recent[i] != *c
}

// settle declares that no more candles that close up to a moment will come.
func (t *track) settle(to market.Time, grid bool) {
	t.settled = max(t.settled, to)
	if grid {
		t.next = max(t.next, to)
	}
}

// join merges two ascending lists; of two versions the one in a is kept.
func join(a, b []market.Candle) []market.Candle {
	all := append(slices.Clone(a), b...)
	slices.SortStableFunc(all, func(x, y market.Candle) int { return int(x.OpenTime - y.OpenTime) })
	return slices.CompactFunc(all, func(x, y market.Candle) bool { return x.OpenTime == y.OpenTime })
}

// maxWiden is how many times the span of a warm-up grows while candles lack that the
// holes of a stored market may hide.
const maxWiden = 3

// Warm delivers the last candles that have closed, as many of each symbol as the warm-up takes,
// as steps, and returns how many. Fewer are no error, see Short. Run goes on behind them.
func (f *Feed) Warm(ctx context.Context, data exchange.Data, warmup market.Warmup) (int, error) {
	f.data, f.short = data, 0
	edge := f.edge()
	candles := warmup.Span(f.cfg.Timeframe)
	if candles <= 0 {
		f.begin(edge)
		return 0, nil
	}
	for _, t := range f.tracks {
		got, err := f.last(ctx, t, edge, candles)
		if err != nil {
			return 0, err
		}
		opens := make([]market.Time, len(got))
		for i := range got {
			opens[i] = got[i].OpenTime
		}
		rows, short := warmup.Rows(f.cfg.Timeframe, opens, edge, nominal(ctx, f.cfg.Timeframe, edge))
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		got, f.short = got[len(got)-rows:], max(f.short, short)
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

// nominal are the times at which candles open from the edge on, until ctx is done: a plugin may wait for
// very many.
func nominal(ctx context.Context, tf market.Timeframe, edge market.Time) iter.Seq[market.Time] {
	return func(yield func(market.Time) bool) {
		for at := range tf.Nominal(edge) {
			if ctx.Err() != nil || !yield(at) {
				return
			}
		}
	}
}

// maxSpan is the longest stretch that is asked for, more than any market has candles of.
const maxSpan = 30 * 365 * 24 * time.Hour

// last are the newest n candles that open before edge.
func (f *Feed) last(ctx context.Context, t *track, edge market.Time, n int) ([]market.Candle, error) {
	span := maxSpan
	if own := f.cfg.Timeframe.Approx(); n < int(maxSpan/own) {
		span = time.Duration(n) * own
	}
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

// whole reports whether candles follow each other without a hole up to must at least.
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

// ask makes one request, again and again until it is answered: a request that failed shows
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
			if o := refused.Result.Outcome; o == exchange.Rejected || o == exchange.AuthFailed ||
				o == exchange.NotFound {
				return nil, err
			}
			wait = max(wait, time.Duration(refused.Result.RetryAfterMS)*time.Millisecond)
		}
		if !failed {
			failed = true
			f.alarm(Alarm{Code: CandleUnreachable, Symbol: q.Symbol, From: q.From, To: q.To,
				Message: fmt.Sprintf("the exchange does not say its candles of %s, asking on: %v", q.Symbol,
					err)})
		}
		if !exchange.Pause(ctx, wait) {
			return nil, context.Cause(ctx)
		}
		backoff = min(2*backoff, maxBackoff)
	}
}
