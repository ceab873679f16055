// Package feed turns what a venue sends into what a strategy may rely on: closed candles,
// each exactly once, in order, put together into steps like those of a backtest.
//
// The stream of a connector may skip, repeat, correct, delay and fall silent; its history
// (REST) is the truth that settles every doubt. Each symbol knows the open time that it
// needs next. A candle that opens there is taken; an older one is dropped, with the alarm
// CANDLE_CORRECTED when it differs from the one that was taken; before a newer one the
// hole is filled from history. What history lacks after three answers a second apart
// stays missing, with the alarm CANDLE_MISSING, and is never made up. A step waits five
// seconds for all symbols and then asks history for the absent ones; ten seconds after a
// close of which nothing was heard history is asked for all.
//
// The feed is driven by one goroutine and holds the connector up while a step is being
// answered. All its moments are times of the venue's clock. It imports the contract of
// connectors, the market nouns and the simulator's Batch.
package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// When history is asked although no candle calls for it, in venue time.
const (
	stepPatience = 5 * time.Second  // after the close, for the other symbols
	silence      = 10 * time.Second // after the close, for any
	maxSkew      = 5 * time.Second  // that a closed candle may be ahead of the clock
	maxSleep     = time.Minute      // wall time, because clocks are corrected
	minSleep     = time.Millisecond
)

// errStopped is a stream that ended although it was not asked to.
var errStopped = errors.New("the stream of candles ended by itself")

// Config is what a feed is made for.
type Config struct {
	Symbols   []market.Symbol
	Timeframe market.Timeframe
	// Clock is the venue's; nil: the wall clock.
	Clock exchange.VenueClock
	// Stored reports whether the candles come from the candle store or are synthetic: history
	// is final, its holes are the market's own, and its times need no grid.
	Stored bool
	// Step takes a step and returns when it has been answered; the venue is held up
	// meanwhile. Its error ends the feed: the step was not taken, and the next Run begins with it.
	Step func(context.Context, *Step) error
	// Alarm gets each alarm at once; may be nil. Alarms also come with the next step.
	Alarm func(Alarm)
	// State gets changes of the stream; may be nil.
	State func(exchange.LinkState, string)
}

// Feed is the candles of one run. Its methods are not for concurrent use; Step, Alarm and
// State are called from within them.
type Feed struct {
	cfg    Config
	data   exchange.Data
	tracks []*track
	short  int  // warm-up candles missing
	ready  bool // next is known
	lost   bool // the stream was interrupted
	asked  market.Time
	closed market.Time // of the last step
	alarms []Alarm
}

// New checks the configuration.
func New(cfg Config) (*Feed, error) {
	if len(cfg.Symbols) == 0 || cfg.Step == nil {
		return nil, errors.New("feed: needs symbols and a receiver of steps")
	}
	if cfg.Timeframe.Count == 0 {
		return nil, errors.New("feed: needs a timeframe")
	}
	if cfg.Clock == nil {
		cfg.Clock = exchange.WallClock{}
	}
	f := &Feed{cfg: cfg}
	for i, s := range cfg.Symbols {
		f.tracks = append(f.tracks, &track{index: i, symbol: s})
	}
	return f, nil
}

// Run streams until ctx ends (its cause is returned), the market does
// (exchange.ErrEnded, after the last step), or something fails: a *DataError, what Step
// returned, or what the stream gave up with. After the latter Run may be called again,
// with another connection too: it goes on behind the last candle that was taken.
func (f *Feed) Run(ctx context.Context, data exchange.Data) error {
	f.data = data
	if !f.ready {
		f.begin(f.edge())
	}
	f.lost = f.closed != 0 || len(f.tracks[0].recent) > 0
	streaming, cancel := context.WithCancel(ctx)
	events, ended := make(chan delivery), make(chan error, 1)
	go func() {
		ended <- data.StreamCandles(streaming, func(e exchange.CandleEvent) {
			d := delivery{event: e, done: make(chan struct{})}
			select {
			case events <- d:
				<-d.done
			case <-streaming.Done():
			}
		})
	}()
	err, over := f.loop(ctx, events, ended)
	cancel()
	if !over {
		<-ended // the goroutine is this method's
	}
	return err
}

// Follow is Run again and again: a stream that gives up is begun anew, behind the last candle that was
// taken. It returns when ctx ends (with its cause), the market does, or the candles cannot be used. GaveUp
// gets why a stream did; may be nil.
func (f *Feed) Follow(ctx context.Context, data exchange.Data, gaveUp func(error)) error {
	var backoff exchange.Backoff
	for {
		began := time.Now()
		err := f.Run(ctx, data)
		switch {
		case errors.Is(err, exchange.ErrEnded), errors.As(err, new(*DataError)):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Since(began) > exchange.MostBackoff:
			backoff.Reset()
		}
		if gaveUp != nil {
			gaveUp(err)
		}
		if !exchange.Pause(ctx, backoff.Next()) {
			return context.Cause(ctx)
		}
	}
}

// delivery is an event on its way; done lets the connector go on.
type delivery struct {
	event exchange.CandleEvent
	done  chan struct{}
}

// loop returns why it ended, and whether the stream has.
func (f *Feed) loop(ctx context.Context, events <-chan delivery, ended <-chan error) (error, bool) {
	timer := time.NewTimer(maxSleep)
	defer timer.Stop()
	for {
		timer.Reset(f.sleep())
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx), false
		case d := <-events:
			err = f.hear(ctx, &d.event)
			close(d.done)
		case err := <-ended:
			return f.finish(ctx, err), true
		case <-timer.C:
			err = f.overdue(ctx)
		}
		if err != nil {
			return err, false
		}
	}
}

// finish returns the end of the stream: at the end of the market what waits for other symbols
// has waited long enough.
func (f *Feed) finish(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil {
		return errStopped
	}
	if !errors.Is(err, exchange.ErrEnded) {
		return err
	}
	for at := f.waiting(); at != 0; at = f.waiting() {
		if err := f.complete(ctx, at); err != nil {
			return err
		}
	}
	return exchange.ErrEnded
}

// hear takes one event of the stream.
func (f *Feed) hear(ctx context.Context, e *exchange.CandleEvent) error {
	if e.State != "" {
		if f.cfg.State != nil {
			f.cfg.State(e.State, e.Reason)
		}
		again := e.State == exchange.Gap || (e.State == exchange.Connected && f.lost)
		f.lost = e.State != exchange.Connected && (f.lost || e.State == exchange.Reconnecting)
		if again && !f.cfg.Stored {
			return f.poll(ctx)
		}
		return nil
	}
	for _, t := range f.tracks {
		if t.symbol == e.Symbol {
			if err := f.offer(ctx, t, e.Candle); err != nil {
				return err
			}
			return f.flush(ctx)
		}
	}
	return fmt.Errorf("the stream sends candles of %q, which is not a symbol of the run", e.Symbol)
}

// offer judges a streamed candle against the one that its symbol needs next.
func (f *Feed) offer(ctx context.Context, t *track, c market.Candle) error {
	if reason := f.unsound(&c); reason != "" {
		if err := f.invalid(t, &c, reason); err != nil {
			return err
		}
		// Fetched anew; when history does not have it yet, the waiting of steps does the rest.
		return f.fill(ctx, t, max(f.edge(), f.slotEnd(&c)), t.next)
	}
	t.bad = 0
	if !t.old(&c) && c.OpenTime > t.next {
		if err := f.fill(ctx, t, c.OpenTime, c.OpenTime); err != nil {
			return err
		}
	}
	if t.old(&c) {
		if t.lacks(&c) {
			f.alarm(Alarm{Code: CandleMissing, Symbol: t.symbol, From: c.OpenTime, To: c.CloseTime,
				Message: fmt.Sprintf("the candle of %s at %s came after its step: it is added neither to "+
					"the candles nor to larger timeframes", t.symbol, c.OpenTime)})
		}
		if t.differs(&c) {
			f.alarm(Alarm{Code: CandleCorrected, Symbol: t.symbol, From: c.OpenTime, To: c.CloseTime,
				Candles: 1,
				Message: fmt.Sprintf(
					"the exchange changed the candle of %s at %s after it had closed; the first version "+
						"is kept", t.symbol, c.OpenTime)})
		}
		return nil
	}
	t.take(c, Stream)
	return nil
}

// slotEnd returns the close of the slot that an invalid candle claims, if it can have closed.
func (f *Feed) slotEnd(c *market.Candle) market.Time {
	end := f.cfg.Timeframe.Next(floor(f.cfg.Timeframe, c.OpenTime))
	if end > f.cfg.Clock.Now().Add(maxSkew) {
		return 0
	}
	return end
}

// invalid drops a candle; the third in a row is an error.
func (f *Feed) invalid(t *track, c *market.Candle, reason string) error {
	if t.bad++; t.bad >= 3 {
		return &DataError{Symbol: t.symbol, OpenTime: c.OpenTime, Reason: reason}
	}
	f.alarm(Alarm{Code: CandleInvalid, Symbol: t.symbol, From: c.OpenTime, To: c.CloseTime, Candles: 1,
		Message: fmt.Sprintf("dropped a candle of %s at %s: %s", t.symbol, c.OpenTime, reason)})
	return nil
}

func (f *Feed) alarm(a Alarm) {
	f.alarms = append(f.alarms, a)
	if f.cfg.Alarm != nil {
		f.cfg.Alarm(a)
	}
}

// edge returns the open time of the candle that is forming: everything before has closed.
// Stored candles end wherever they do.
func (f *Feed) edge() market.Time {
	now := f.cfg.Clock.Now()
	if f.cfg.Stored {
		return now
	}
	return floor(f.cfg.Timeframe, now)
}

// begin fixes where the candles start: what closed before is not waited for. The stored
// candle that is forming may have opened anywhere within the timeframe.
func (f *Feed) begin(at market.Time) {
	next := at
	if f.cfg.Stored {
		next = at.Add(-f.cfg.Timeframe.Approx())
	}
	for _, t := range f.tracks {
		t.settled, t.next = max(t.settled, at), max(t.next, next)
	}
	f.ready = true
}

// waiting returns the close of the earliest step that lacks a symbol; 0 if nothing waits.
func (f *Feed) waiting() market.Time {
	var first market.Time
	for _, t := range f.tracks {
		if len(t.queue) > 0 && (first == 0 || t.queue[0].CloseTime < first) {
			first = t.queue[0].CloseTime
		}
	}
	return first
}

// flush delivers the steps of which every symbol is known.
func (f *Feed) flush(ctx context.Context) error {
	for {
		at := f.waiting()
		if at == 0 {
			return nil
		}
		for _, t := range f.tracks {
			if len(t.queue) == 0 && t.settled < at {
				return nil
			}
		}
		if err := f.deliver(ctx, at); err != nil {
			return err
		}
	}
}

func (f *Feed) deliver(ctx context.Context, at market.Time) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // the step waits for the next Run
	}
	n := len(f.tracks)
	s := &Step{Batch: sim.Batch{CloseTime: at, Candles: make([]market.Candle, n), Closed: make([]bool, n)},
		Sources: make([]Source, n)}
	for i, t := range f.tracks {
		if len(t.queue) > 0 && t.queue[0].CloseTime == at {
			s.Candles[i], s.Closed[i], s.Sources[i] = t.queue[0].Candle, true, t.queue[0].source
		}
	}
	s.Alarms = f.alarms
	if err := f.cfg.Step(ctx, s); err != nil {
		return err
	}
	for i, t := range f.tracks {
		if s.Closed[i] {
			t.queue = t.queue[1:]
		}
		t.settled = max(t.settled, at)
	}
	f.alarms, f.closed = nil, at
	return nil
}

// due is when history is to be asked unless something comes before.
func (f *Feed) due() market.Time {
	if at := f.waiting(); at != 0 {
		return at.Add(stepPatience)
	}
	next := f.tracks[0].next
	for _, t := range f.tracks[1:] {
		next = min(next, t.next)
	}
	return max(f.cfg.Timeframe.Next(next), f.asked).Add(silence)
}

// sleep returns the wall time until then.
func (f *Feed) sleep() time.Duration {
	if f.cfg.Stored && f.waiting() == 0 {
		return maxSleep // a store is never silent
	}
	left := time.Duration(f.due()-f.cfg.Clock.Now()) * time.Millisecond
	if left <= 0 {
		return 0
	}
	return min(max(f.cfg.Clock.Wall(left), minSleep), maxSleep)
}

// overdue asks history when its time has come.
func (f *Feed) overdue(ctx context.Context) error {
	at := f.waiting()
	switch {
	case f.cfg.Stored && at == 0, f.cfg.Clock.Now() < f.due():
		return nil
	case at != 0:
		return f.complete(ctx, at)
	}
	return f.poll(ctx)
}

// complete asks for the symbols that a step lacks, and for what they missed since.
func (f *Feed) complete(ctx context.Context, at market.Time) error {
	to := at
	for _, t := range f.tracks {
		if n := len(t.queue); n > 0 {
			to = max(to, t.queue[n-1].CloseTime)
		}
	}
	for _, t := range f.tracks {
		if len(t.queue) == 0 && t.settled < at {
			if err := f.fill(ctx, t, to, at); err != nil {
				return err
			}
			t.settled = max(t.settled, at)
		}
	}
	return f.flush(ctx)
}

// poll asks for whatever has closed by now.
func (f *Feed) poll(ctx context.Context) error {
	edge := f.edge()
	for _, t := range f.tracks {
		if err := f.fill(ctx, t, edge, t.next); err != nil {
			return err
		}
	}
	f.asked = f.cfg.Timeframe.Next(edge)
	return f.flush(ctx)
}
