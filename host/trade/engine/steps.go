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
	"github.com/assay-run/assay/host/trade/order/desk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
)

// steps is where the run is in its candles.
type steps struct {
	layout Layout
	index  int64       // of the next step
	closed market.Time // of the last one
	warm   []*feed.Step
	offers feed.Offers
	cancel context.CancelFunc // of the stream
	done   <-chan struct{}    // closed when the stream's goroutine is gone
	warmed bool               // the feed is free for the stream
	// deciding says that the strategy is being asked, answering that it has answered and the
	// feed does not know.
	deciding, answering bool
	taken               feed.Offer // that is being decided
}

// next is a step of the warm-up that may be decided now.
func (s *steps) next() (o feed.Offer, ok bool) {
	if len(s.warm) == 0 || s.deciding || s.answering {
		return o, false
	}
	o.Step = s.warm[0]
	s.warm = s.warm[1:]
	return o, true
}

// wanted is the channel of steps, nil while none can be taken.
func (s *steps) wanted() <-chan feed.Offer {
	if s.deciding || s.answering || len(s.warm) > 0 {
		return nil
	}
	return s.offers
}

// idle says that nothing is being decided and no warm-up is left.
func (s *steps) idle() bool { return len(s.warm) == 0 && !s.deciding }

// warmUp makes the feed and reads the candles before the run.
func (e *Engine) warmUp(ctx context.Context) (err error) {
	e.enter(Warming)
	var warm []*feed.Step
	warming := true
	e.feed, err = feed.New(feed.Config{
		Symbols: e.cfg.Symbols, Timeframe: e.cfg.Timeframe, Clock: e.clock,
		Stored: e.cfg.Venue.Kind == "sim" || e.cfg.Venue.Kind == "store",
		Step: func(ctx context.Context, s *feed.Step) error {
			if warming {
				warm = append(warm, s)
				return nil
			}
			return e.steps.offers.Step(ctx, s)
		},
		Alarm: func(a feed.Alarm) { e.inbox.post(func() { e.raise(a.Code, string(a.Symbol), a.Message) }) },
	})
	if err != nil {
		return err
	}
	err = e.await(ctx, func(ctx context.Context) error {
		_, err := e.feed.Warm(ctx, history{&e.current}, e.cfg.Warmup)
		return err
	})
	warming = false
	if err != nil {
		return err
	}
	e.steps.warmed = true
	return e.lay(warm)
}

// history is the candles of whatever connection is in use: the feed asks until it is answered, and
// meanwhile there may be another connector.
type history struct{ link *atomic.Pointer[link] }

// Candles implements exchange.Connector.
func (h history) Candles(ctx context.Context, q exchange.CandleQuery) ([]market.Candle, error) {
	l := h.link.Load()
	if l == nil {
		return nil, &exchange.Error{Result: exchange.Result{Outcome: exchange.NotSent, Message: "there is no connector"}}
	}
	return l.conn.Candles(ctx, q)
}

// StreamCandles implements exchange.Connector.
func (h history) StreamCandles(context.Context, func(exchange.CandleEvent)) error {
	return errors.ErrUnsupported
}

// await runs f beside the loop, which goes on with everything else meanwhile.
func (e *Engine) await(ctx context.Context, f func(context.Context) error) error {
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.running.Go(func() {
		ended <- f(ctx)
		e.inbox.post(func() {})
	})
	for {
		e.drain()
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
			e.wait(nil, nil)
		}
	}
}

// lay says what of the candles begins where.
func (e *Engine) lay(warm []*feed.Step) error {
	have := make([]int, len(e.cfg.Symbols))
	for _, s := range warm {
		for i := range s.Closed {
			if s.Closed[i] {
				have[i]++
			}
		}
	}
	l := Layout{Window: int64(len(warm))}
	for _, n := range have {
		l.Short = max(l.Short, e.cfg.Warmup-n)
	}
	l.Warmup = l.Window + int64(l.Short)
	if n := len(warm); n > 0 {
		last := warm[n-1]
		err := e.possible(e.desk.Ledger().Cash(), func(i int) dec {
			price, _ := order.FromFloat(last.Candles[i].Close)
			return price
		})
		if err != nil {
			return err
		}
	}
	rec, err := e.cfg.Host.Begin(l)
	if err != nil {
		return err
	}
	e.locked(func() { e.rec, e.steps.layout, e.steps.warm = rec, l, warm })
	return nil
}

// step takes a step: the books first, then the journal, then the strategy is asked.
func (e *Engine) step(o feed.Offer) {
	if e.stopped {
		o.Answered()
		return
	}
	s := o.Step
	failpoint.Point(failpoint.CandleRead)
	i := e.steps.index
	e.steps.index, e.steps.closed = i+1, s.CloseTime
	e.steps.deciding, e.steps.taken = true, o
	e.note(i, s)
	e.tellLink(0)
	var results []desk.Result
	var view *View
	e.locked(func() {
		e.desk.Begin(i, s.CloseTime)
		e.cfg.Host.Candles(i, &s.Batch)
		for n, closed := range s.Closed {
			if closed {
				results = append(results, e.desk.Candle(e.cfg.Symbols[n], s.Candles[n], time.Now()))
			}
		}
		e.harvest()
		e.mark(i, s.CloseTime)
		view = e.view(i, s)
	})
	for _, r := range results {
		e.absorb(note{source: order.FromLocal}, r)
	}
	if !e.commit() {
		return
	}
	if i >= e.steps.layout.Window {
		e.verdicts(e.guard.OnStep(s.CloseTime, e.desk.Equity()))
	}
	e.work()
	if e.failure != nil {
		return
	}
	e.ask(view)
}

// note keeps a step for the journal and for the limits.
func (e *Engine) note(i int64, s *feed.Step) {
	for n, closed := range s.Closed {
		if !closed {
			continue
		}
		e.batch.Candles = append(e.batch.Candles, journal.Candle{
			Symbol: e.cfg.Symbols[n], Candle: s.Candles[n], Step: i, Source: string(s.Sources[n]),
		})
		e.clear(feed.CandleUnreachable, string(e.cfg.Symbols[n]))
		sym := &e.symbols[n]
		sym.LastCandle, sym.Backfilled = s.CloseTime, s.Sources[n] == feed.Backfill
		if last, err := order.FromFloat(s.Candles[n].Close); err == nil {
			sym.LastClose = last
		}
	}
}

// mark values the account at the close of a step.
func (e *Engine) mark(i int64, at market.Time) {
	if i < e.steps.layout.Window {
		return
	}
	equity, cash := e.desk.Equity(), e.desk.Ledger().Cash()
	e.batch.Equity = append(e.batch.Equity, journal.Equity{At: at, Equity: equity, Cash: cash})
	held := order.Minus(equity, cash)
	e.rec.Equity(i, &sim.Mark{Time: at, Equity: float(equity), Cash: float(cash), PositionValue: float(held), Notional: float(held)})
}

func float(d dec) float64 {
	f, _ := d.Float64()
	return f
}

// view is the account as the strategy is told it; what it was told is not told again.
func (e *Engine) view(i int64, s *feed.Step) *View {
	v := &View{
		Step: i, CloseTime: s.CloseTime, Warmup: i < e.steps.layout.Warmup, Candles: s.Candles, Closed: s.Closed,
		Orders: e.told.orders, Fills: e.told.fills, Cash: float(e.desk.Ledger().Cash()), Equity: float(e.desk.Equity()),
		Holdings: make([]Holding, len(e.cfg.Symbols)),
	}
	e.told.orders, e.told.fills = nil, nil
	for _, p := range e.desk.Positions() {
		for n, symbol := range e.cfg.Symbols {
			if symbol == p.Symbol {
				v.Holdings[n] = Holding{float(p.Quantity), float(p.AverageEntryPrice), int64(e.desk.Ledger().CandlesHeld(symbol))}
			}
		}
	}
	return v
}

// ask has the strategy decide beside the loop.
func (e *Engine) ask(v *View) {
	e.running.Go(func() {
		failpoint.Point(failpoint.StepSent)
		intents, err := e.cfg.Host.Decide(v)
		failpoint.Point(failpoint.StepAnswered)
		e.inbox.post(func() { e.decided(v, intents, err) })
	})
}

// decided turns the answer into orders.
func (e *Engine) decided(v *View, intents []market.Intent, err error) {
	e.steps.deciding = false
	if err != nil {
		e.fail(err)
		return
	}
	if e.stopped || e.failure != nil {
		return // the barrier fell first
	}
	var r desk.Result
	e.locked(func() {
		e.desk.Begin(v.Step, v.CloseTime)
		var refused []string
		r, refused, err = e.desk.Intents(intents, v.Warmup, time.Now())
		for i := range intents {
			if i < len(refused) {
				e.rec.Intent(v.Step, &intents[i], market.Reason(refused[i]))
			}
		}
		e.harvest()
	})
	if bad, ok := errors.AsType[*desk.IntentError](err); ok {
		err = &sim.IntentError{Step: bad.Step, Index: bad.Index, Reason: bad.Reason}
	}
	if err != nil {
		e.fail(err)
		return
	}
	e.absorb(note{source: order.FromLocal}, r)
	e.work()
	e.steps.answering = true
}

// answer lets the feed go on. A venue whose time stands still meanwhile gets the orders first,
// so that the next candle finds them.
func (e *Engine) answer() {
	if !e.steps.answering || (e.held() && e.calls.flight > 0) {
		return
	}
	e.steps.answering = false
	e.steps.taken.Answered()
}

// held says that the venue's time waits for answers.
func (e *Engine) held() bool { return e.link != nil && e.link.conn.Clock != nil }
