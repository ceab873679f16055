package trade

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sim"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
)

// paperRun is the part of a run that trades on paper: the loop of a backtest over candles that are still to
// come. Its fields are guarded by the gate of the run.
type paperRun struct {
	run        *Execution
	venueClock exchange.SteadyClock // where the venue has no time of its own
	engine     *sim.Engine          // nil until the warm-up is here
	recorder   *journalRecorder
}

// runSteps returns a paper run from its warm-up to its end: the loop of a backtest, over candles
// that are still to come.
func (pp *paperRun) runSteps(ctx context.Context, l *line, markets []exchange.Market) error {
	src := pp.newSource(l)
	defer src.Close()
	warm, err := src.Warmup(ctx, pp.run.setup.warmup)
	if err != nil {
		return err
	}
	if err := pp.prepareBooks(src, warm, markets); err != nil {
		return err
	}
	if err := pp.writeMarkets(markets); err != nil {
		return err
	}
	begin := &strategypb.Begin{WarmupSteps: pp.run.chart.layout.warmup,
		WindowStep: pp.run.chart.layout.window}
	if err := pp.run.plugin.Stream.Send(
		&strategypb.HostMessage{Message: &strategypb.HostMessage_Begin{Begin: begin}}); err != nil {
		return err
	}
	arriving := &arriving{x: pp.run, ctx: ctx, src: src, warm: warm}
	pp.recorder.asks = run.NewLockstep(pp.run.plugin.Stream, pp.run.gate, pp.run.setup.plan.Symbols,
		pp.run.opts.StepLimit)
	pp.recorder.asks.ReadInputs(pp.run.setup.inputs.shown)
	if err := pp.runLoop(arriving); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return pp.stopPlugin(cause)
		}
		if fault, ok := errors.AsType[*engine.Fault](err); ok && fault.Code == engine.CodeRiskKill {
			return errors.Join(err, pp.endBooks())
		}
		return err
	}
	return pp.run.plugin.Finish(pp.run.opts.StepLimit)
}

// runLoop returns the loop, with the gate held while it does not wait.
func (pp *paperRun) runLoop(f sim.Feed) error {
	pp.run.gate.Lock()
	defer pp.run.gate.Unlock()
	err := sim.Run(pp.engine, &run.Feed{Feed: f, Record: pp.run.chart.rec}, pp.recorder)
	return errors.Join(err, pp.recorder.commitBatch())
}

// prepareBooks makes engine and record once it is known how much warm-up there is.
func (pp *paperRun) prepareBooks(src *source, warm []*feed.Step, markets []exchange.Market) error {
	pp.run.gate.Lock()
	defer pp.run.gate.Unlock()
	short := src.feed.Short()
	pp.run.chart.layout.window = int64(len(warm))
	pp.run.chart.layout.warmup = pp.run.chart.layout.window + int64(short)
	cfg := sim.Config{
		Symbols: pp.run.setup.plan.Symbols, Timeframe: pp.run.setup.plan.Timeframe,
		InitialCash: pp.run.setup.plan.Cash, Options: pp.run.setup.plan.Execution,
		WarmupSteps: pp.run.chart.layout.warmup, WindowStep: pp.run.chart.layout.window,
		PriceSteps: make([]decimal.Decimal, len(markets)),
	}
	for i, m := range markets {
		cfg.PriceSteps[i] = m.PriceTick
		pp.run.chart.candles = append(pp.run.chart.candles,
			&market.Series{Symbol: m.Symbol, Timeframe: pp.run.setup.plan.Timeframe})
	}
	pp.run.chart.rec = run.NewRecord(run.RecordOptions{Symbols: pp.run.setup.plan.Symbols,
		Lines: pp.run.lines, Window: pp.run.chart.layout.window, NoMemoryLimit: true})
	watch, err := pp.newShadow(src.clock.Now())
	if err != nil {
		return err
	}
	pp.recorder = &journalRecorder{Recorder: pp.run.chart.rec, x: pp.run, src: src, book: pp.run.journal,
		watch: watch}
	cfg.Judge = pp.recorder.judgeOrder
	if pp.engine, err = sim.NewEngine(cfg, pp.recorder); err != nil {
		return err
	}
	pp.recorder.batch.Entries = append(pp.recorder.batch.Entries, journal.Entry{
		Kind: logLayout,
		Data: map[string]any{"window": pp.run.chart.layout.window, "warmup": pp.run.chart.layout.warmup},
	})
	pp.run.addAssumptions(short)
	return nil
}

// arriving is the feed of a run: the warm-up, then whatever closes. It waits with the gate open.
type arriving struct {
	x    *Execution
	ctx  context.Context
	src  *source
	warm []*feed.Step
	step int64
}

// Next implements sim.Feed.
func (a *arriving) Next(b *sim.Batch) (bool, error) {
	x := a.x
	if len(a.warm) > 0 {
		*b = a.warm[0].Batch
		x.paper.recorder.takeStep(a.warm[0], a.step)
		a.warm = a.warm[1:]
		a.step++
		return true, nil
	}
	var next *feed.Step
	err := x.paper.recorder.commitBatch() // the orders of the step before
	if err != nil {
		return false, err
	}
	if a.step >= x.chart.layout.warmup && x.phase == phaseWarming {
		x.gate.Outside(func() { x.enterPhase(phaseTrading) })
	}
	for next == nil && err == nil {
		x.gate.Outside(func() { next, err = a.src.Next(a.ctx) })
		if next == nil && err == nil {
			err = x.paper.recorder.onIdle()
		}
	}
	switch {
	case errors.Is(err, errEnded):
		return false, nil
	case err != nil:
		return false, err
	}
	*b = next.Batch
	x.link.LastMessage = x.clock()
	x.paper.recorder.takeStep(next, a.step)
	a.step++
	x.note(b)
	return true, nil
}

// note keeps the candles of the window for those who look at them.
func (x *Execution) note(b *sim.Batch) {
	for i := range b.Closed {
		if !b.Closed[i] {
			continue
		}
		c := b.Candles[i]
		x.chart.lastCandle = x.clock()
		x.chart.candles[i].Append(c)
		if x.chart.window.Start == 0 {
			x.chart.window.Start = c.OpenTime
		}
		x.chart.window.End = max(x.chart.window.End, c.CloseTime)
		x.chart.window.Candles++
	}
}

// writeMarkets completes the run's row: paper has an account of its own.
func (pp *paperRun) writeMarkets(markets []exchange.Market) error {
	text, err := engine.EncodeMarkets(markets)
	if err != nil {
		return err
	}
	return pp.run.journal.Connected(context.Background(), journal.Connected{
		AccountID: pp.run.runID, Markets: text,
		StartCash: decimal.NullDecimal{Decimal: pp.run.setup.plan.Cash, Valid: true},
	})
}

// lookEvery is when it is looked at what time calls for, while no candle comes.
const lookEvery = time.Second

// line is the connection of a paper run. It is of one goroutine at a time.
type line struct {
	x       *Execution
	conn    *exchange.Connection // nil while there is none
	quiet   context.CancelFunc   // ends the lease
	lease   sync.WaitGroup
	crashes engine.Crashes
}

// take takes a connection into use and renews its lease until it is let go.
func (l *line) take(conn *exchange.Connection) {
	ctx, cancel := context.WithCancel(context.Background())
	l.conn, l.quiet = conn, cancel
	l.lease.Go(func() { conn.KeepLease(ctx, l.x.paper.onBeat) })
}

// let ends what stands behind the connection.
func (l *line) let() {
	l.quiet()
	l.lease.Wait()
	if l.conn.Release != nil {
		l.conn.Release()
	}
	l.conn = nil
}

// with does something over the connection. When the connector is gone meanwhile, the context of f ends
// with exchange.ErrGone, and f, which returns that, begins anew over another one.
func (l *line) with(ctx context.Context, f func(context.Context, *exchange.Connection) error) error {
	for {
		err := l.conn.While(ctx, func(ctx context.Context) error { return f(ctx, l.conn) })
		if !errors.Is(err, exchange.ErrGone) {
			return err
		}
		if err := l.relaunch(ctx); err != nil {
			return err
		}
	}
}

// relaunch starts another connector in the place of one that is gone, unless too many went.
func (l *line) relaunch(ctx context.Context) error {
	x := l.x
	l.let()
	x.paper.linkUp(false)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := l.crashes.Another(time.Now(), x.setup.venue.ID); err != nil {
		return err
	}
	x.paper.setHalted(true)
	x.warn(engine.CodeConnectorCrashed, "the connector of "+x.setup.venue.ID+" is gone and is started again")
	conn, err := x.paper.connectVenue(ctx)
	if err != nil {
		return err
	}
	l.take(conn)
	x.paper.setHalted(false)
	x.Clear(engine.CodeConnectorCrashed, "")
	x.warn(engine.CodeConnectorBack, "the connector of "+x.setup.venue.ID+" is back")
	return nil
}

// hangUp ends the session of a run that is over: nothing of it is open there any more.
func (l *line) hangUp(ctx context.Context) {
	if l.conn == nil {
		return
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), engine.CloseLimit)
	defer cancel()
	if _, err := l.conn.Close(closing, false); err != nil {
		l.x.log.Warn("the connector did not close in good order", "error", err)
	}
	l.let()
}

// setHalted is the state of a run without a connector, from its loss to its return.
func (pp *paperRun) setHalted(on bool) {
	pp.run.gate.Lock()
	defer pp.run.gate.Unlock()
	if pp.recorder == nil {
		return // it does not trade yet
	}
	if guard := pp.recorder.watch.guard; !on {
		guard.Clear(engine.CodeConnectorCrashed)
	} else {
		guard.Raise(risk.Reason{
			Code: engine.CodeConnectorCrashed, State: risk.Halted, Clears: risk.WhenGone,
			Since: pp.recorder.src.clock.Now(), Message: "there is no connector",
		})
	}
	pp.recorder.src.nudge()
}

// source turns the candle feed, which pushes steps, into one that is asked for them: a
// step counts as answered when the next one is asked for.
type source struct {
	x       *Execution
	line    *line
	clock   exchange.VenueClock
	feed    *feed.Feed
	warming bool
	warm    []*feed.Step
	offers  feed.Offers
	taken   feed.Offer    // that is being answered
	wake    chan struct{} // holds one token
	cancel  context.CancelCauseFunc
	ended   chan error
}

// errEnded reports that a replay has come to its end.
var errEnded = errors.New("the candles have ended")

// errClosed stops a feed that is not needed any more.
var errClosed = errors.New("the run is over")

// newSource returns the source of the run. Its clock stays when another connector is started.
func (pp *paperRun) newSource(l *line) *source {
	return &source{x: pp.run, line: l, clock: l.conn.Clock, offers: make(feed.Offers),
		wake: make(chan struct{}, 1), ended: make(chan error, 1)}
}

func (s *source) newFeed() (*feed.Feed, error) {
	x, kind := s.x, s.x.setup.venue.Description.Kind
	return feed.New(feed.Config{
		Symbols: x.setup.plan.Symbols, Timeframe: x.setup.plan.Timeframe, Clock: s.clock,
		Stored: kind == "sim" || kind == "store",
		Step:   s.take, Alarm: func(a feed.Alarm) {
			x.Raise(alarm.Occurrence{Code: a.Code, Subject: string(a.Symbol), Text: a.Message})
		},
		State: func(state exchange.LinkState, reason string) {
			x.paper.linkUp(state == exchange.Connected)
			x.log.Debug("candle stream", "state", string(state), "reason", reason)
		},
	})
}

// take implements the feed's Step.
func (s *source) take(ctx context.Context, step *feed.Step) error {
	if s.warming {
		s.warm = append(s.warm, step)
		return nil
	}
	return s.offers.Step(ctx, step)
}

// Warmup are the steps before the run. Call it once, before Next.
func (s *source) Warmup(ctx context.Context, warmup market.Warmup) ([]*feed.Step, error) {
	err := s.line.with(ctx, func(ctx context.Context, conn *exchange.Connection) (err error) {
		s.warm = nil // what a connector that is gone has told of it is asked for again
		if s.feed, err = s.newFeed(); err != nil {
			return err
		}
		s.warming = true
		_, err = s.feed.Warm(ctx, conn, warmup)
		s.warming = false
		return err
	})
	return s.warm, err
}

// run streams the candles until ctx or they end, or they cannot be used. A stream that gives up is begun
// again: the feed goes on behind the last candle that was taken.
func (s *source) run(ctx context.Context) error {
	return s.line.with(ctx, func(ctx context.Context, conn *exchange.Connection) error {
		return s.feed.Follow(ctx, conn, func(err error) {
			s.x.paper.linkUp(false)
			s.x.log.Warn("the stream of candles gave up and is begun again", "error", err)
		})
	})
}

// Next waits for the next step. Nil without an error: none came for a while, or something else is to be
// looked at. errEnded: there are no more.
func (s *source) Next(ctx context.Context) (*feed.Step, error) {
	if s.cancel == nil {
		running, cancel := context.WithCancelCause(ctx)
		s.cancel = cancel
		go func() { s.ended <- s.run(running) }()
	}
	s.taken.Answered()
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	select {
	case s.taken = <-s.offers:
		return s.taken.Step, nil
	case err := <-s.ended:
		s.ended <- err // for Close
		if errors.Is(err, exchange.ErrEnded) {
			err = errEnded
		}
		return nil, err
	case <-s.wake:
	case <-timer.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return nil, nil
}

// nudge ends the waiting of Next, or of the next one.
func (s *source) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close ends the feed and waits for it.
func (s *source) Close() {
	if s.cancel != nil {
		s.cancel(errClosed)
		<-s.ended
	}
}
