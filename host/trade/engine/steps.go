package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/assay-run/assay/host/base/failpoint"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/order/oms"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// steps is where the run is in its candles, and the strategy that is asked at each.
type steps struct {
	*parts
	feed   *feed.Feed
	layout Layout
	index  int64       // of the next step
	closed market.Time // of the last one
	warm   []*feed.Step
	offers feed.Offers
	cancel context.CancelFunc // of the stream
	done   <-chan struct{}    // closed when the stream's goroutine is gone
	warmed bool               // the feed is free for the stream
	// deciding reports whether the strategy is being asked, answering whether it has answered and the
	// feed does not know.
	deciding, answering bool
	taken               feed.Offer // that is being decided
}

// nextWarm returns a step of the warm-up that may be decided now.
func (s *steps) nextWarm() (o feed.Offer, ok bool) {
	if len(s.warm) == 0 || s.deciding || s.answering {
		return o, false
	}
	o.Step = s.warm[0]
	s.warm = s.warm[1:]
	return o, true
}

// openOffers returns the channel of steps, nil while none can be taken.
func (s *steps) openOffers() <-chan feed.Offer {
	if s.deciding || s.answering || len(s.warm) > 0 {
		return nil
	}
	return s.offers
}

// idle reports whether nothing is being decided and no warm-up is left.
func (s *steps) idle() bool { return len(s.warm) == 0 && !s.deciding }

// readWarmup makes the feed and reads the candles before the run.
func (st *steps) readWarmup(ctx context.Context) (err error) {
	st.loop.enterPhase(Warming)
	var warm []*feed.Step
	warming := true
	st.feed, err = feed.New(feed.Config{
		Symbols: st.cfg.Symbols, Timeframe: st.cfg.Timeframe, Clock: st.session.clock,
		Stored: st.cfg.Venue.Kind == "sim" || st.cfg.Venue.Kind == "store",
		Step: func(ctx context.Context, s *feed.Step) error {
			if warming {
				warm = append(warm, s)
				return nil
			}
			return st.offers.Step(ctx, s)
		},
		Alarm: func(a feed.Alarm) {
			st.loop.inbox.post(func() { st.books.raiseAlarm(a.Code, string(a.Symbol), a.Message) })
		},
	})
	if err != nil {
		return err
	}
	err = st.loop.runBeside(ctx, func(ctx context.Context) error {
		_, err := st.feed.Warm(ctx, history{&st.session.current}, st.cfg.Warmup)
		return err
	})
	warming = false
	if err != nil {
		return err
	}
	st.warmed = true
	return st.layOut(warm)
}

// history is the candles of whatever connection is in use: the feed asks until it is answered, and
// meanwhile there may be another connector.
type history struct{ link *atomic.Pointer[link] }

// Candles implements exchange.Connector.
func (h history) Candles(ctx context.Context, q exchange.CandleQuery) ([]market.Candle, error) {
	l := h.link.Load()
	if l == nil {
		return nil, &exchange.Error{Result: exchange.Result{Outcome: exchange.NotSent,
			Message: "there is no connector"}}
	}
	return l.conn.Candles(ctx, q)
}

// StreamCandles implements exchange.Connector.
func (h history) StreamCandles(context.Context, func(exchange.CandleEvent)) error {
	return errors.ErrUnsupported
}

// runBeside runs f beside the loop, which goes on with everything else meanwhile.
func (e *Engine) runBeside(ctx context.Context, f func(context.Context) error) error {
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.running.Go(func() {
		ended <- f(ctx)
		e.inbox.post(func() {})
	})
	for {
		e.drainInbox()
		if e.failure != nil {
			cancel()
		}
		select {
		case err := <-ended:
			if e.failure != nil {
				return e.failure
			}
			return err
		default:
			e.waitOnce(nil, nil)
		}
	}
}

// layOut fixes where in the candles what begins.
func (st *steps) layOut(warm []*feed.Step) error {
	l := Layout{Window: int64(len(warm)), Short: st.feed.Short()}
	l.Warmup = l.Window + int64(l.Short)
	if n := len(warm); n > 0 {
		last := warm[n-1]
		err := st.books.requireAnyOrder(st.books.manager.Ledger().Cash(), func(i int) dec {
			price, _ := sim.Decimal(last.Candles[i].Close)
			return price
		})
		if err != nil {
			return err
		}
	}
	rec, err := st.cfg.Host.Begin(l)
	if err != nil {
		return err
	}
	st.books.withGate(func() { st.books.rec, st.layout, st.warm = rec, l, warm })
	return nil
}

// takeStep takes a step: the books first, then the journal, then the strategy is asked.
func (st *steps) takeStep(o feed.Offer) {
	if st.loop.stopped {
		o.Answered()
		return
	}
	s := o.Step
	failpoint.Point(failpoint.CandleRead)
	i := st.index
	st.index, st.closed = i+1, s.CloseTime
	st.deciding, st.taken = true, o
	st.noteCandles(i, s)
	st.session.reportLink(0)
	var results []oms.Result
	var view *View
	st.books.withGate(func() {
		st.books.manager.Begin(i, s.CloseTime)
		st.cfg.Host.Candles(i, &s.Batch)
		for n, closed := range s.Closed {
			if closed {
				done := st.books.manager.Candle(st.cfg.Symbols[n], s.Candles[n], time.Now())
				results = append(results, done)
			}
		}
		st.books.drainUpdates()
		st.markEquity(i, s.CloseTime)
		view = st.makeView(i, s)
	})
	for _, r := range results {
		st.books.applyEffects(note{source: order.FromLocal}, r)
	}
	if !st.books.commitBatch() {
		return
	}
	if i >= st.layout.Window {
		st.books.recordVerdicts(st.books.guard.OnStep(s.CloseTime, st.books.manager.Equity()))
	}
	st.books.runEffects()
	if st.loop.failure != nil {
		return
	}
	st.askStrategy(view)
}

// noteCandles keeps a step for the journal and for the limits.
func (st *steps) noteCandles(i int64, s *feed.Step) {
	for n, closed := range s.Closed {
		if !closed {
			continue
		}
		st.books.batch.Candles = append(st.books.batch.Candles, journal.Candle{
			Symbol: st.cfg.Symbols[n], Candle: s.Candles[n], Step: i, Source: string(s.Sources[n]),
		})
		st.books.clearAlarm(feed.CandleUnreachable, string(st.cfg.Symbols[n]))
		sym := &st.books.symbols[n]
		sym.LastCandle, sym.Backfilled = s.CloseTime, s.Sources[n] == feed.Backfill
		if last, err := sim.Decimal(s.Candles[n].Close); err == nil {
			sym.LastClose = last
		}
	}
}

// markEquity values the account at the close of a step.
func (st *steps) markEquity(i int64, at market.Time) {
	if i < st.layout.Window {
		return
	}
	equity, cash := st.books.manager.Equity(), st.books.manager.Ledger().Cash()
	st.books.batch.Equity = append(st.books.batch.Equity, journal.Equity{At: at, Equity: equity, Cash: cash})
	held := order.Minus(equity, cash)
	st.books.rec.Equity(i,
		&sim.Mark{Time: at, Equity: sim.Float(equity), Cash: sim.Float(cash), PositionValue: sim.Float(held),
			Notional: sim.Float(held)})
}

// makeView returns the account as the strategy is told it; what it was told is not told again.
func (st *steps) makeView(i int64, s *feed.Step) *View {
	v := &View{
		Step: i, CloseTime: s.CloseTime, Warmup: i < st.layout.Warmup, Candles: s.Candles, Closed: s.Closed,
		Orders: st.books.unsent.orders, Fills: st.books.unsent.fills,
		Cash: sim.Float(st.books.manager.Ledger().Cash()), Equity: sim.Float(st.books.manager.Equity()),
		Holdings: make([]Holding, len(st.cfg.Symbols)),
	}
	st.books.unsent.orders, st.books.unsent.fills = nil, nil
	for _, p := range st.books.manager.Positions() {
		for n, symbol := range st.cfg.Symbols {
			if symbol == p.Symbol {
				v.Holdings[n] = Holding{sim.Float(p.Quantity), sim.Float(p.AverageEntryPrice),
					int64(st.books.manager.Ledger().CandlesHeld(symbol))}
			}
		}
	}
	return v
}

// askStrategy has the strategy decide beside the loop.
func (st *steps) askStrategy(v *View) {
	st.loop.running.Go(func() {
		failpoint.Point(failpoint.StepSent)
		intents, err := st.cfg.Host.Decide(v)
		failpoint.Point(failpoint.StepAnswered)
		st.loop.inbox.post(func() { st.onDecision(v, intents, err) })
	})
}

// onDecision turns the answer into orders.
func (st *steps) onDecision(v *View, intents []market.Intent, err error) {
	st.deciding = false
	if err != nil {
		st.loop.failRun(err)
		return
	}
	if st.loop.stopped || st.loop.failure != nil {
		return // the barrier fell first
	}
	var r oms.Result
	st.books.withGate(func() {
		st.books.manager.Begin(v.Step, v.CloseTime)
		var refused []string
		r, refused, err = st.books.manager.Intents(intents, v.Warmup, time.Now())
		for i := range intents {
			if i < len(refused) {
				st.books.rec.Intent(v.Step, &intents[i], market.Reason(refused[i]))
			}
		}
		st.books.drainUpdates()
	})
	if bad, ok := errors.AsType[*oms.IntentError](err); ok {
		err = &sim.IntentError{Step: bad.Step, Index: bad.Index, Reason: bad.Reason}
	}
	if err != nil {
		st.loop.failRun(err)
		return
	}
	st.books.applyEffects(note{source: order.FromLocal}, r)
	st.books.runEffects()
	st.answering = true
}

// releaseFeed lets the feed go on. A venue whose time stands still meanwhile gets the orders first,
// so that the next candle finds them.
func (st *steps) releaseFeed() {
	if !st.answering || (st.session.venueWaits() && st.session.calls.flight > 0) {
		return
	}
	st.answering = false
	st.taken.Answered()
}

// venueWaits reports whether the venue's time waits for answers.
func (se *session) venueWaits() bool { return se.link != nil && se.link.conn.Clock != nil }
