package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/host/trade/risk"
)

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

// take takes a connection into use and tells its connector that the host lives, until it is let go.
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
			Code: engine.CodeConnectorCrashed, State: risk.Halted, Clears: risk.WhenGone, Since: pp.recorder.src.clock.Now(), Message: "there is no connector",
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

// errEnded says that a replay has come to its end.
var errEnded = errors.New("the candles have ended")

// errClosed stops a feed that nobody listens to any more.
var errClosed = errors.New("the run is over")

// newSource is the source of the run. Its clock stays when another connector is started.
func (pp *paperRun) newSource(l *line) *source {
	return &source{x: pp.run, line: l, clock: l.conn.Clock, offers: make(feed.Offers), wake: make(chan struct{}, 1), ended: make(chan error, 1)}
}

func (s *source) newFeed() (*feed.Feed, error) {
	x, kind := s.x, s.x.setup.venue.Description.Kind
	return feed.New(feed.Config{
		Symbols: x.setup.plan.Symbols, Timeframe: x.setup.plan.Timeframe, Clock: s.clock, Stored: kind == "sim" || kind == "store",
		Step: s.take, Alarm: func(a feed.Alarm) {
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

// Warmup are the steps before the run: up to so many candles of each symbol. Call it once, before Next.
func (s *source) Warmup(ctx context.Context, candles int) ([]*feed.Step, error) {
	err := s.line.with(ctx, func(ctx context.Context, conn *exchange.Connection) (err error) {
		s.warm = nil // what a connector that is gone has told of it is asked for again
		if s.feed, err = s.newFeed(); err != nil {
			return err
		}
		s.warming = true
		_, err = s.feed.Warm(ctx, conn, candles)
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
