package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/risk"
)

// CloseLimit is how long the end of a session may take.
const CloseLimit = 5 * time.Second

// Limits of a connection.
const (
	leaseTTL     = 10 * time.Second
	armEvery     = 20 * time.Second
	armFor       = 60 * time.Second
	confirmLimit = 30 * time.Second // until the account stream says that it is connected
	maxSkew      = 2500 * time.Millisecond
	warnSkew     = 500 * time.Millisecond
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
	fees   string // what fees are paid in, if it is neither base nor quote
}

// Dialer makes the connection of a run.
type Dialer struct {
	Exchange string // its id
	// Connect starts the connector, Open is what its session is opened with.
	Connect func(context.Context) (*exchange.Connection, error)
	Open    exchange.OpenRequest
	// Limit is how long the venue may be out of reach.
	Limit time.Duration
	// Silence is what the venue answered last where it wants no requests for a while.
	Silence exchange.Result
	// Failed hears of every attempt that was in vain, but of a definite answer; may be nil.
	Failed func(error)
}

// Dialed is a connection whose session is open.
type Dialed struct {
	Conn   *exchange.Connection
	Opened exchange.Opened
	// Took is how long that took.
	Took time.Duration
}

// Dial starts the connector and opens its session, again and again while the venue is out of reach. What it fails by is
// a *Fault, the venue's word on the credentials, or the cause of ctx.
func (d Dialer) Dial(ctx context.Context) (Dialed, error) {
	limit, cancel := context.WithTimeout(ctx, d.Limit)
	defer cancel()
	var conn *exchange.Connection
	release := func() {
		if conn != nil && conn.Release != nil {
			conn.Release()
		}
		conn = nil
	}
	var err error = &exchange.Error{Result: d.Silence}
	var backoff exchange.Backoff
	for wait := d.Silence.HoldOff(); ; wait = max(backoff.Next(), exchange.ResultOf(err).HoldOff()) {
		if !exchange.Pause(limit, wait) {
			release()
			if ctx.Err() != nil {
				return Dialed{}, context.Cause(ctx)
			}
			return Dialed{}, ExchangeFault("unreachable", err, "%s could not be reached within %s: %v", d.Exchange, d.Limit, err)
		}
		if conn == nil {
			if conn, err = d.Connect(limit); err != nil {
				return Dialed{}, ExchangeFault("connector_crashed", err, "the connector of %s could not be started: %v", d.Exchange, err)
			}
		}
		asked := time.Now()
		var opened exchange.Opened
		if opened, err = conn.Open(limit, d.Open); err == nil {
			return Dialed{conn, opened, time.Since(asked)}, nil
		}
		switch exchange.ResultOf(err).Outcome {
		case exchange.AuthFailed:
			release()
			return Dialed{}, err
		case exchange.Rejected:
			release()
			return Dialed{}, ExchangeFault("unreachable", err, "%s did not open a session: %v", d.Exchange, err)
		}
		if d.Failed != nil {
			d.Failed(err)
		}
		if conn.IsGone() {
			release()
		}
	}
}

// dial makes a connection. One in the place of another asks nothing either while the venue wants silence; it is told
// which orders of the run are exits.
func (e *Engine) dial(ctx context.Context, exits []string) (*link, error) {
	d := Dialer{Exchange: e.cfg.Venue.ID, Connect: e.cfg.Connect, Open: e.cfg.Open, Limit: e.cfg.ConnectLimit}
	d.Open.LeaseTTL, d.Open.Exits = leaseTTL, exits
	d.Silence, _ = e.calls.silence(time.Now())
	made, err := d.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return e.linked(made.Conn, made.Opened)
}

func (e *Engine) linked(conn *exchange.Connection, opened exchange.Opened) (*link, error) {
	l := &link{conn: conn, offset: opened.ClockOffset, id: opened.AccountID, fees: opened.FeeAsset}
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
	e.keepLease(l)
	if skew := opened.ClockOffset.Abs(); skew > maxSkew {
		e.hangUp(l, false)
		return nil, ExchangeFault("clock_skew", nil, "this machine's clock is %s off that of %s: set it, at most %s is safe", skew, e.cfg.Venue.ID, maxSkew)
	}
	e.inbox.post(func() { e.skewed(l.offset) })
	return l, nil
}

// hangUp closes the session and ends what goes on over it. A connector that was to cancel what
// is open and has not done so in time goes on with that by itself.
func (e *Engine) hangUp(l *link, cancelOpen bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.life), CloseLimit)
	defer cancel()
	var err error
	if !l.down {
		_, err = l.conn.Close(ctx, cancelOpen)
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
	offset := l.offset
	e.running.Go(func() {
		l.conn.KeepLease(l.ctx, func(ack exchange.Ack, asked time.Time) {
			if ack.VenueTime <= 0 {
				return
			}
			if now := e.venue.Hear(ack.VenueTime, asked, offset); now != offset {
				offset = now
				e.inbox.post(func() {
					l.offset = now
					e.tellLink(0)
					e.skewed(now)
				})
			}
		})
	})
	if e.cfg.Venue.DeadMan == "native" {
		e.running.Go(func() { e.armDeadMan(l) })
	}
}

// armDeadMan has the venue cancel what is open once nobody asks for that any more.
func (e *Engine) armDeadMan(l *link) {
	for wait := time.Duration(0); exchange.Pause(l.ctx, wait); {
		ctx, cancel := context.WithTimeout(l.ctx, queryLimit)
		wait = armEvery
		if l.conn.ArmDeadMan(ctx, armFor) != nil {
			wait = exchange.BeatEvery
		}
		cancel()
	}
}

// listenAccount starts the account stream and waits until it is confirmed.
func (e *Engine) listenAccount(ctx context.Context, l *link) error {
	limit, cancel := context.WithTimeout(ctx, e.cfg.ConnectLimit)
	defer cancel()
	var backoff exchange.Backoff
	for {
		confirmed := make(chan error, 1)
		e.running.Go(func() { e.streamAccount(l, confirmed) })
		err := errors.New("it said nothing")
		timer := time.NewTimer(confirmLimit)
		select {
		case err = <-confirmed:
		case <-timer.C:
			timer.Stop()
			return ExchangeFault("subscription_refused", err, "%s did not confirm the stream of the account within %s", e.cfg.Venue.ID, confirmLimit)
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		timer.Stop()
		if err == nil {
			return nil
		}
		if final := e.streamRefused(err); final != nil {
			return final
		}
		if !exchange.Pause(limit, max(backoff.Next(), exchange.ResultOf(err).HoldOff())) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return ExchangeFault("unreachable", err, "the stream of the account at %s could not be reached: %v", e.cfg.Venue.ID, err)
		}
	}
}

// streamRefused is what a run ends by that is refused the stream of the account for good; nil: it may come another time.
func (e *Engine) streamRefused(err error) error {
	switch exchange.ResultOf(err).Outcome {
	case exchange.AuthFailed:
		return err
	case exchange.Rejected:
		return ExchangeFault("subscription_refused", err, "%s refused the stream of the account: %v", e.cfg.Venue.ID, err)
	}
	return nil
}

// streamAccount keeps the account stream up once it was confirmed; before that it gives up
// with its first error.
func (e *Engine) streamAccount(l *link, confirmed chan<- error) {
	var backoff exchange.Backoff
	for first := true; ; {
		err := l.conn.StreamAccount(l.ctx, func(ev exchange.AccountEvent) {
			if ev.State == exchange.Connected && first {
				first = false
				confirmed <- nil
				return
			}
			backoff.Reset()
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
		if final := e.streamRefused(err); final != nil {
			e.inbox.post(func() { e.fail(final) })
			return
		}
		e.inbox.post(func() { e.accountEvent(l, exchange.AccountEvent{State: exchange.Reconnecting}) })
		if !exchange.Pause(l.ctx, max(backoff.Next(), exchange.ResultOf(err).HoldOff())) {
			return
		}
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
		err := e.feed.Follow(ctx, l.conn, nil)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, exchange.ErrEnded):
			err = errFinished
		}
		e.inbox.post(func() { e.fail(err) })
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
	if err := e.crashes.Another(time.Now(), e.cfg.Venue.ID); err != nil {
		return err
	}
	e.warn(CodeConnectorCrashed, "the connector of "+e.cfg.Venue.ID+" is gone and is started again")
	return nil
}

// crashWindow is how long the loss of a connector counts.
const crashWindow = 5 * time.Minute

// Crashes are the losses of a run's connector within the last five minutes.
type Crashes []time.Time

// Another notes one more. The error, a *Fault, says that these are too many for another connector.
func (c *Crashes) Another(now time.Time, venue string) error {
	const most = 3
	*c = append(slices.DeleteFunc(*c, func(at time.Time) bool { return now.Sub(at) > crashWindow }), now)
	if n := len(*c); n > most {
		return ExchangeFault("connector_crashed", nil, "the connector of %s crashed %d times within %s", venue, n, crashWindow)
	}
	return nil
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
	var exits []string
	for _, s := range e.desk.Book().Pending() {
		if s.Spec.Exit {
			exits = append(exits, s.Spec.ClientOrderID)
		}
	}
	e.running.Go(func() {
		l, err := e.dial(e.life, exits)
		if err == nil {
			if err = e.sameAccount(l); err != nil {
				e.hangUp(l, false) // nothing of the run is open there
			} else {
				e.coming.Store(l)
				err = e.listenAccount(e.life, l)
			}
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
	return ExchangeFault("reconcile", nil, "the connector of %s came back with another account", e.cfg.Venue.ID)
}

// back takes the new connection into use.
func (e *Engine) back(l *link) {
	e.use(l)
	e.recon.then = func() {
		e.guard.Clear(CodeConnectorCrashed)
		e.clear(CodeConnectorCrashed, "")
		e.warn(CodeConnectorBack, "the connector of "+e.cfg.Venue.ID+" is back")
	}
	e.resync()
	e.follow()
}
