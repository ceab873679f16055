package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/live/feed"
	"github.com/assay-run/assay/host/live/risk"
)

// Limits of a connection.
const (
	leaseTTL     = 10 * time.Second
	beatEvery    = 2 * time.Second
	armEvery     = 20 * time.Second
	armFor       = 60 * time.Second
	confirmLimit = 30 * time.Second // until the account stream says that it is connected
	closeLimit   = 5 * time.Second
	maxSkew      = 2500 * time.Millisecond
	warnSkew     = 500 * time.Millisecond
	leastBackoff = 500 * time.Millisecond
	mostBackoff  = 30 * time.Second
)

// link is one connection to the venue, with what goes on over it.
type link struct {
	conn   *exchange.Connection
	ctx    context.Context // of everything that uses it
	end    context.CancelFunc
	offset time.Duration // the venue's clock minus ours
	clock  exchange.VenueClock
	own    bool   // the venue has a time of its own
	id     string // the account
	down   bool   // it is gone; of the engine's goroutine
}

// dial starts the connector and opens its session, again and again while the venue is out of reach.
func (e *Engine) dial(ctx context.Context) (*link, error) {
	limit, cancel := context.WithTimeout(ctx, e.cfg.ConnectLimit)
	defer cancel()
	var conn *exchange.Connection
	release := func() {
		if conn != nil && conn.Release != nil {
			conn.Release()
		}
		conn = nil
	}
	for backoff := leastBackoff; ; backoff = min(2*backoff, mostBackoff) {
		var err error
		if conn == nil {
			if conn, err = e.cfg.Connect(limit); err != nil {
				return nil, exchangeFault("connector_crashed", err, "the connector of %s could not be started: %v", e.cfg.Venue.ID, err)
			}
		}
		req := e.cfg.Open
		req.LeaseTTL = leaseTTL
		opened, err := conn.Session.Open(limit, req)
		if err == nil {
			return e.linked(conn, opened)
		}
		if answer, ok := errors.AsType[*exchange.Error](err); ok {
			switch answer.Result.Outcome {
			case exchange.AuthFailed:
				release()
				return nil, err
			case exchange.Rejected:
				release()
				return nil, exchangeFault("unreachable", err, "%s did not open a session: %v", e.cfg.Venue.ID, err)
			}
		}
		if gone(conn) {
			release()
		}
		if !pause(limit, max(jitter(backoff), holdOff(resultOf(err)))) {
			release()
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, exchangeFault("unreachable", err, "%s could not be reached within %s: %v", e.cfg.Venue.ID, e.cfg.ConnectLimit, err)
		}
	}
}

// gone says that the connector's process has ended.
func gone(conn *exchange.Connection) bool {
	select {
	case <-conn.Gone:
		return true
	default:
		return false
	}
}

func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

func (e *Engine) linked(conn *exchange.Connection, opened exchange.Opened) (*link, error) {
	l := &link{conn: conn, offset: opened.ClockOffset, id: opened.AccountID}
	l.clock, l.own = conn.Clock, conn.Clock != nil || opened.Clock != nil
	switch {
	case conn.Clock != nil:
	case opened.Clock != nil:
		l.clock = opened.Clock
	default:
		l.clock = &e.venue
	}
	e.venue.SetOffset(l.offset)
	l.ctx, l.end = context.WithCancel(e.life)
	e.running.Go(func() { e.keepLease(l) })
	if skew := opened.ClockOffset.Abs(); skew > maxSkew {
		e.hangUp(l, false)
		return nil, exchangeFault("clock_skew", nil, "this machine's clock is %s off that of %s: set it, at most %s is safe", skew, e.cfg.Venue.ID, maxSkew)
	}
	e.inbox.post(func() { e.skewed(l.offset) })
	return l, nil
}

// hangUp closes the session and ends what goes on over it. A connector that was to cancel what
// is open and has not done so in time goes on with that by itself.
func (e *Engine) hangUp(l *link, cancelOpen bool) {
	ctx, cancel := context.WithTimeout(e.life, closeLimit)
	defer cancel()
	var err error
	if !l.down {
		_, err = l.conn.Session.Close(ctx, cancelOpen)
	}
	l.end()
	l.let(cancelOpen && err != nil)
}

// let ends what stands behind the connection; open: orders of the run may be open there.
func (l *link) let(open bool) {
	switch {
	case open && l.conn.Leave != nil:
		l.conn.Leave()
	case l.conn.Release != nil:
		l.conn.Release()
	}
}

// leave ends the connection of a run that is over.
func (e *Engine) leave() {
	if e.link != nil {
		e.hangUp(e.link, false)
	}
}

// keepLease tells the connector that the host lives, and the venue where it wants to know.
func (e *Engine) keepLease(l *link) {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	var armed time.Time
	offset := l.offset
	for seq := int64(1); ; seq++ {
		ctx, cancel := context.WithTimeout(l.ctx, beatEvery)
		asked := time.Now()
		ack, err := l.conn.Safety.Beat(ctx, seq) // one that is not answered is followed by the next
		cancel()
		if err == nil && ack.VenueTime > 0 {
			offset = e.hearTime(l, offset, ack.VenueTime, asked)
		}
		if e.cfg.Venue.DeadMan == "native" && time.Since(armed) >= armEvery {
			ctx, cancel := context.WithTimeout(l.ctx, queryLimit)
			if l.conn.Safety.ArmDeadMan(ctx, armFor) == nil {
				armed = time.Now()
			}
			cancel()
		}
		select {
		case <-beat.C:
		case <-l.ctx.Done():
			return
		}
	}
}

// listenAccount starts the account stream and waits until it is confirmed.
func (e *Engine) listenAccount(ctx context.Context, l *link) error {
	limit, cancel := context.WithTimeout(ctx, e.cfg.ConnectLimit)
	defer cancel()
	for backoff := leastBackoff; ; backoff = min(2*backoff, mostBackoff) {
		confirmed := make(chan error, 1)
		e.running.Go(func() { e.streamAccount(l, confirmed) })
		err := errors.New("it said nothing")
		timer := time.NewTimer(confirmLimit)
		select {
		case err = <-confirmed:
		case <-timer.C:
			timer.Stop()
			return exchangeFault("subscription_refused", err, "%s did not confirm the stream of the account within %s", e.cfg.Venue.ID, confirmLimit)
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		timer.Stop()
		if err == nil {
			return nil
		}
		switch resultOf(err).Outcome {
		case exchange.AuthFailed:
			return err
		case exchange.Rejected:
			return e.streamRefused(err)
		}
		if !pause(limit, max(jitter(backoff), holdOff(resultOf(err)))) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return exchangeFault("unreachable", err, "the stream of the account at %s could not be reached: %v", e.cfg.Venue.ID, err)
		}
	}
}

func (e *Engine) streamRefused(err error) *Fault {
	return exchangeFault("subscription_refused", err, "%s refused the stream of the account: %v", e.cfg.Venue.ID, err)
}

// streamAccount keeps the account stream up once it was confirmed; before that it gives up
// with its first error.
func (e *Engine) streamAccount(l *link, confirmed chan<- error) {
	backoff := leastBackoff
	for first := true; ; {
		err := l.conn.Account.StreamAccount(l.ctx, func(ev exchange.AccountEvent) {
			if ev.State == exchange.Connected && first {
				first = false
				confirmed <- nil
				return
			}
			backoff = leastBackoff
			e.inbox.post(func() { e.accountEvent(l, ev) })
		})
		if first {
			if err == nil {
				err = errors.New("the stream ended before it was confirmed")
			}
			confirmed <- err
			return
		}
		if l.ctx.Err() != nil {
			return
		}
		switch resultOf(err).Outcome {
		case exchange.AuthFailed:
			e.inbox.post(func() { e.fail(err) })
			return
		case exchange.Rejected:
			e.inbox.post(func() { e.fail(e.streamRefused(err)) })
			return
		}
		e.inbox.post(func() { e.accountEvent(l, exchange.AccountEvent{State: exchange.Reconnecting}) })
		if !pause(l.ctx, max(jitter(backoff), holdOff(resultOf(err)))) {
			return
		}
		backoff = min(2*backoff, mostBackoff)
	}
}

// follow starts the stream of candles once the warm-up is over and there is a connection, with
// whichever comes second. Until then the feed belongs to the warm-up.
func (e *Engine) follow() {
	if e.steps.warmed && e.link != nil && !e.stopped {
		e.listenCandles(e.link)
	}
}

// listenCandles starts the stream of candles, and starts it again when it gives up.
func (e *Engine) listenCandles(l *link) {
	ctx, cancel := context.WithCancel(l.ctx)
	e.steps.cancel = cancel
	done := make(chan struct{})
	before := e.steps.done
	e.steps.done = done
	e.running.Go(func() {
		defer close(done)
		if before != nil {
			<-before // the feed is for one goroutine at a time
		}
		for backoff := leastBackoff; ; backoff = min(2*backoff, mostBackoff) {
			began := time.Now()
			err := e.feed.Run(ctx, l.conn.Data)
			if ctx.Err() != nil {
				return
			}
			if time.Since(began) > mostBackoff {
				backoff = leastBackoff
			}
			switch {
			case errors.Is(err, exchange.ErrEnded):
				e.inbox.post(func() { e.fail(errFinished) })
				return
			case errors.As(err, new(*feed.DataError)):
				e.inbox.post(func() { e.fail(err) })
				return
			}
			if !pause(ctx, jitter(backoff)) {
				return
			}
		}
	})
}

// crashed is the loss of the connector's process: no order leaves until another one stands
// and everything was read again.
func (e *Engine) crashed() {
	if e.link == nil || e.link.down {
		return
	}
	if err := e.lose(); err != nil {
		e.fail(err)
		return
	}
	e.guard.Raise(risk.Reason{Code: CodeConnectorCrashed, State: risk.Halted, Clears: risk.WhenGone, Since: e.now(), Message: "there is no connector"})
	e.relaunch()
}

// lose gives up the connection to a connector that is gone. The error says that this happens too
// often for another one.
func (e *Engine) lose() error {
	l := e.link
	l.down = true
	l.end()
	l.let(false)
	e.use(nil)
	e.recon.synced = false
	e.recon.round++ // what was read over it counts no more
	e.recon.then = nil
	e.tellLink(0)
	if n, enough := e.crashes.Another(time.Now()); enough {
		return exchangeFault("connector_crashed", nil, "the connector of %s crashed %d times within %s", e.cfg.Venue.ID, n, CrashWindow)
	}
	e.warn(CodeConnectorCrashed, "the connector of "+e.cfg.Venue.ID+" is gone and is started again")
	return nil
}

// CrashWindow is how long the loss of a connector counts.
const CrashWindow = 5 * time.Minute

// Crashes are the losses of a run's connector within the last CrashWindow.
type Crashes []time.Time

// Another notes one more. It tells how many there are, and whether these are too many for another connector.
func (c *Crashes) Another(now time.Time) (n int, enough bool) {
	const most = 3
	*c = append(slices.DeleteFunc(*c, func(at time.Time) bool { return now.Sub(at) > CrashWindow }), now)
	return len(*c), len(*c) > most
}

// use takes a connection into use; nil: there is none.
func (e *Engine) use(l *link) {
	e.link = l
	e.current.Store(l)
	if l != nil {
		e.clock = l.clock
	}
}

// relaunch brings a new connector up beside the loop.
func (e *Engine) relaunch() {
	e.running.Go(func() {
		l, err := e.dial(e.life)
		if err == nil {
			if err = e.sameAccount(l); err == nil {
				err = e.listenAccount(e.life, l)
			}
			if err != nil {
				e.hangUp(l, false)
			}
		}
		if err == nil {
			e.coming.Store(l)
		}
		e.inbox.post(func() {
			if err != nil {
				e.fail(err)
				return
			}
			e.coming.Store(nil)
			e.back(l)
		})
	})
}

func (e *Engine) sameAccount(l *link) error {
	if l.id == e.account {
		return nil
	}
	return exchangeFault("reconcile", nil, "the connector of %s came back with another account", e.cfg.Venue.ID)
}

// back takes the new connection into use.
func (e *Engine) back(l *link) {
	e.use(l)
	e.resync(func() {
		e.guard.Clear(CodeConnectorCrashed)
		e.warn(CodeConnectorBack, "the connector of "+e.cfg.Venue.ID+" is back")
	})
	e.follow()
}
