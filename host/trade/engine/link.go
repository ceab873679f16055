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
	confirmLimit = 30 * time.Second // until the account stream is confirmed
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
	// Silence is what the venue answered last where it refuses requests for a while.
	Silence exchange.Result
	// Failed gets the error of every attempt that was in vain, but of a definite answer; may be nil.
	Failed func(error)
}

// Dialed is a connection whose session is open.
type Dialed struct {
	Conn   *exchange.Connection
	Opened exchange.Opened
	// Took is how long that took.
	Took time.Duration
}

// Dial starts the connector and opens its session, again and again while the venue is out of reach. What it
// fails by is a *Fault, the venue's word on the credentials, or the cause of ctx.
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
			return Dialed{},
				ExchangeFault("unreachable", err, "%s could not be reached within %s: %v", d.Exchange,
					d.Limit, err)
		}
		if conn == nil {
			if conn, err = d.Connect(limit); err != nil {
				return Dialed{},
					ExchangeFault("connector_crashed", err, "the connector of %s could not be started: %v",
						d.Exchange, err)
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
			return Dialed{},
				ExchangeFault("unreachable", err, "%s did not open a session: %v", d.Exchange, err)
		}
		if d.Failed != nil {
			d.Failed(err)
		}
		if conn.IsGone() {
			release()
		}
	}
}

// dialVenue makes a connection. One in the place of another asks nothing either while the venue refuses
// requests; it is told which orders of the run are exits.
func (se *session) dialVenue(ctx context.Context, exits []string) (*link, error) {
	d := Dialer{Exchange: se.cfg.Venue.ID, Connect: se.cfg.Connect, Open: se.cfg.Open,
		Limit: se.cfg.ConnectLimit}
	d.Open.LeaseTTL, d.Open.Exits = leaseTTL, exits
	d.Silence = se.calls.denyRequest(time.Now()).Result()
	made, err := d.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return se.openLink(made.Conn, made.Opened)
}

func (se *session) openLink(conn *exchange.Connection, opened exchange.Opened) (*link, error) {
	l := &link{conn: conn, offset: opened.ClockOffset, id: opened.AccountID, fees: opened.FeeAsset}
	l.clock, l.own = conn.Clock, conn.Clock != nil || opened.Clock != nil
	switch {
	case conn.Clock != nil:
	case opened.Clock != nil:
		l.clock = opened.Clock
	default:
		l.clock = &se.venue
	}
	se.venue.SetOffset(l.offset)
	l.ctx, l.end = context.WithCancel(se.loop.life)
	se.keepLease(l)
	if skew := opened.ClockOffset.Abs(); skew > maxSkew {
		se.closeLink(l, false)
		return nil, ExchangeFault("clock_skew", nil,
			"this machine's clock is %s off that of %s: set it, at most %s is safe", skew, se.cfg.Venue.ID,
			maxSkew)
	}
	se.loop.inbox.post(func() { se.checkSkew(l.offset) })
	return l, nil
}

// closeLink closes the session and ends what goes on over it. A connector that was to cancel what
// is open and has not done so in time goes on with that by itself.
func (se *session) closeLink(l *link, cancelOpen bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(se.loop.life), CloseLimit)
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

// keepLease renews the lease at the connector, and at a venue with a dead-man switch of its own.
func (se *session) keepLease(l *link) {
	offset := l.offset
	se.loop.running.Go(func() {
		l.conn.KeepLease(l.ctx, func(ack exchange.Ack, asked time.Time) {
			if ack.VenueTime <= 0 {
				return
			}
			if now := se.venue.Observe(ack.VenueTime, asked, offset); now != offset {
				offset = now
				se.loop.inbox.post(func() {
					l.offset = now
					se.reportLink(0)
					se.checkSkew(now)
				})
			}
		})
	})
	if se.cfg.Venue.DeadMan == "native" {
		se.loop.running.Go(func() { se.armDeadMan(l) })
	}
}

// armDeadMan has the venue cancel what is open once the host stops renewing that.
func (se *session) armDeadMan(l *link) {
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
func (se *session) listenAccount(ctx context.Context, l *link) error {
	limit, cancel := context.WithTimeout(ctx, se.cfg.ConnectLimit)
	defer cancel()
	var backoff exchange.Backoff
	for {
		confirmed := make(chan error, 1)
		se.loop.running.Go(func() { se.streamAccount(l, confirmed) })
		err := errors.New("it said nothing")
		timer := time.NewTimer(confirmLimit)
		select {
		case err = <-confirmed:
		case <-timer.C:
			timer.Stop()
			return ExchangeFault("subscription_refused", err,
				"%s did not confirm the stream of the account within %s", se.cfg.Venue.ID, confirmLimit)
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		timer.Stop()
		if err == nil {
			return nil
		}
		if final := se.streamRefused(err); final != nil {
			return final
		}
		if !exchange.Pause(limit, max(backoff.Next(), exchange.ResultOf(err).HoldOff())) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return ExchangeFault("unreachable", err,
				"the stream of the account at %s could not be reached: %v", se.cfg.Venue.ID, err)
		}
	}
}

// streamRefused returns what a run ends by that is refused the stream of the account for good; nil: it may
// come another time.
func (se *session) streamRefused(err error) error {
	switch exchange.ResultOf(err).Outcome {
	case exchange.AuthFailed:
		return err
	case exchange.Rejected:
		return ExchangeFault("subscription_refused", err, "%s refused the stream of the account: %v",
			se.cfg.Venue.ID, err)
	}
	return nil
}

// streamAccount keeps the account stream up once it was confirmed; before that it gives up
// with its first error.
func (se *session) streamAccount(l *link, confirmed chan<- error) {
	var backoff exchange.Backoff
	for first := true; ; {
		err := l.conn.StreamAccount(l.ctx, func(ev exchange.AccountEvent) {
			if ev.State == exchange.Connected && first {
				first = false
				confirmed <- nil
				return
			}
			backoff.Reset()
			se.loop.inbox.post(func() { se.recon.accountEvent(l, ev) })
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
		if final := se.streamRefused(err); final != nil {
			se.loop.inbox.post(func() { se.loop.failRun(final) })
			return
		}
		se.loop.inbox.post(func() {
			se.recon.accountEvent(l, exchange.AccountEvent{State: exchange.Reconnecting})
		})
		if !exchange.Pause(l.ctx, max(backoff.Next(), exchange.ResultOf(err).HoldOff())) {
			return
		}
	}
}

// followCandles starts the stream of candles once the warm-up is over and there is a connection, with
// whichever comes second. Until then the feed belongs to the warm-up.
func (st *steps) followCandles() {
	if st.warmed && st.session.link != nil && !st.loop.stopped {
		st.listenCandles(st.session.link)
	}
}

// listenCandles starts the stream of candles, and starts it again when it gives up.
func (st *steps) listenCandles(l *link) {
	ctx, cancel := context.WithCancel(l.ctx)
	st.cancel = cancel
	done := make(chan struct{})
	before := st.done
	st.done = done
	st.loop.running.Go(func() {
		defer close(done)
		if before != nil {
			<-before // the feed is for one goroutine at a time
		}
		err := st.feed.Follow(ctx, l.conn, nil)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, exchange.ErrEnded):
			err = errFinished
		}
		st.loop.inbox.post(func() { st.loop.failRun(err) })
	})
}

// onConnectorCrash is the loss of the connector's process: no order leaves until another one stands
// and everything was read again.
func (se *session) onConnectorCrash() {
	if se.link == nil || se.link.down {
		return
	}
	if err := se.dropLink(); err != nil {
		se.loop.failRun(err)
		return
	}
	se.books.guard.Raise(risk.Reason{Code: CodeConnectorCrashed, State: risk.Halted, Clears: risk.WhenGone,
		Since: se.books.now(), Message: "there is no connector"})
	se.relaunchConnector()
}

// dropLink gives up the connection to a connector that is gone. The error reports that this happens too
// often for another one.
func (se *session) dropLink() error {
	l := se.link
	l.down = true
	l.end()
	l.let(false)
	se.useLink(nil)
	se.recon.synced = false
	se.recon.round++ // what was read over it counts no more
	se.recon.then = nil
	se.reportLink(0)
	if err := se.crashes.Another(time.Now(), se.cfg.Venue.ID); err != nil {
		return err
	}
	se.books.raiseWarning(CodeConnectorCrashed,
		"the connector of "+se.cfg.Venue.ID+" is gone and is started again")
	return nil
}

// crashWindow is how long the loss of a connector counts.
const crashWindow = 5 * time.Minute

// Crashes are the losses of a run's connector within the last five minutes.
type Crashes []time.Time

// Another notes one more. The error, a *Fault, reports that these are too many for another connector.
func (c *Crashes) Another(now time.Time, venue string) error {
	const most = 3
	*c = append(slices.DeleteFunc(*c, func(at time.Time) bool { return now.Sub(at) > crashWindow }), now)
	if n := len(*c); n > most {
		return ExchangeFault("connector_crashed", nil, "the connector of %s crashed %d times within %s",
			venue, n, crashWindow)
	}
	return nil
}

// useLink takes a connection into use; nil: there is none.
func (se *session) useLink(l *link) {
	se.link = l
	se.current.Store(l)
	if l != nil {
		se.clock = l.clock
	}
}

// relaunchConnector brings a new connector up beside the loop.
func (se *session) relaunchConnector() {
	var exits []string
	for _, s := range se.books.manager.Book().Pending() {
		if s.Spec.Exit {
			exits = append(exits, s.Spec.ClientOrderID)
		}
	}
	se.loop.running.Go(func() {
		l, err := se.dialVenue(se.loop.life, exits)
		if err == nil {
			if err = se.checkAccount(l); err != nil {
				se.closeLink(l, false) // nothing of the run is open there
			} else {
				se.coming.Store(l)
				err = se.listenAccount(se.loop.life, l)
			}
		}
		se.loop.inbox.post(func() {
			if err != nil {
				se.loop.failRun(err)
				return
			}
			se.coming.Store(nil)
			se.resumeLink(l)
		})
	})
}

func (se *session) checkAccount(l *link) error {
	if l.id == se.account {
		return nil
	}
	return ExchangeFault("reconcile", nil, "the connector of %s came back with another account",
		se.cfg.Venue.ID)
}

// resumeLink takes the new connection into use.
func (se *session) resumeLink(l *link) {
	se.useLink(l)
	se.recon.then = func() {
		se.books.guard.Clear(CodeConnectorCrashed)
		se.books.clearAlarm(CodeConnectorCrashed, "")
		se.books.raiseWarning(CodeConnectorBack, "the connector of "+se.cfg.Venue.ID+" is back")
	}
	se.recon.resyncAccount()
	se.steps.followCandles()
}
