package engine

import (
	"context"
	"sync"
	"time"

	"github.com/assay-run/assay/host/base/failpoint"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/order/oms"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The deadlines of calls, and the least time between two queries.
const (
	callLimit    = 10 * time.Second
	queryLimit   = 5 * time.Second
	querySpacing = 100 * time.Millisecond
)

// calls is what is under way at the venue.
type calls struct {
	flight int       // calls without an answer; of the engine's goroutine
	slot   time.Time // of the next query; likewise
	// leaveBy is the close before which an order must have left, by client order id, while it may still
	// leave; likewise.
	leaveBy map[string]market.Time

	mu     sync.Mutex
	silent time.Time // no request before: the venue has banned us
}

// ban returns how long the venue refuses every request; 0 when it does not.
func (c *calls) ban(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.silent.Sub(now), 0)
}

// denyRequest returns why no request is made while the venue refuses all.
func (c *calls) denyRequest(now time.Time) admission.Denial {
	return admission.Judge(admission.Conditions{Ban: c.ban(now)}, admission.Request)
}

// banned begins the time in which nothing is asked.
func (c *calls) banned(r exchange.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(r.HoldOff()); until.After(c.silent) {
		c.silent = until
	}
}

// runEffect does one thing at the venue that the order manager asked for.
func (se *session) runEffect(f order.Effect) {
	switch f.Do {
	case order.Send:
		se.sendOrder(f)
	case order.Query:
		se.queryOrder(f)
	case order.Cancel:
		se.cancelOrder(f)
	case order.FetchFills:
		se.fetchFills(f.Symbol, f.Since, ignore)
	case order.FetchBalances:
		se.recon.readBalances(ignore)
	}
}

// callVenue runs f beside the loop and its answer in it. While the venue refuses requests, or there
// is none, refused is the answer. Limit is the deadline, after is when to begin.
func (se *session) callVenue(limit time.Duration, after time.Time,
	f func(context.Context, *exchange.Connection) exchange.Result, answer func(exchange.Result, time.Time)) {
	asked := time.Now()
	no := admission.Judge(admission.Conditions{
		Unlinked: se.link == nil || se.link.down, Ban: se.calls.ban(asked),
	}, admission.Request)
	if no.Denies() {
		answer(no.Result(), asked)
		return
	}
	l := se.link
	se.calls.flight++
	se.loop.running.Go(func() {
		if wait := time.Until(after); wait > 0 {
			exchange.Pause(l.ctx, wait)
		}
		ctx, cancel := context.WithTimeout(l.ctx, limit)
		defer cancel()
		sent := time.Now()
		no := se.calls.denyRequest(sent) // a ban may have begun while this one waited for its turn
		r := no.Result()
		if !no.Denies() {
			if r = f(ctx, l.conn); r.Outcome == exchange.Banned {
				se.calls.banned(r)
			}
		}
		took := time.Since(sent)
		se.loop.inbox.post(func() {
			se.calls.flight--
			if r.Outcome != exchange.Unknown && r.Outcome != exchange.NotSent {
				se.reportLink(took)
			}
			if r.Outcome == exchange.Accepted {
				se.books.clearAlarm(string(exchange.Banned), "")
			}
			if r.Outcome == exchange.Banned && !no.Denies() {
				se.books.raiseWarning(string(exchange.Banned),
					"the venue refuses all requests for a while: "+r.Message)
			}
			if r.Outcome == exchange.AuthFailed {
				// whatever was asked: these keys open nothing any more
				se.loop.failRun(&exchange.Error{Result: r})
			}
			answer(r, sent)
		})
	})
}

// reportLink reports how the connection stands, with what came of it just now.
func (se *session) reportLink(latency time.Duration) {
	if se.cfg.Link == nil {
		return
	}
	l := Link{Latency: latency}
	if se.link != nil {
		l.Up, l.Offset, l.Synthetic = se.recon.synced, se.link.offset, se.link.own
	}
	se.cfg.Link(l)
}

// admitSend returns what becomes of an order that may not leave now; "" when it may. It was judged when it
// was written down, and may have waited since: it expires at its close, and until then waits for what holds
// it back.
func (se *session) admitSend(s order.Status) order.Kind {
	c := se.books.conditions()
	c.Expired = !se.loop.stopped && se.books.now() >= se.sendDeadline(s.Spec)
	switch admission.Judge(c, kindOf(s.Spec)).Code {
	case "":
		return ""
	case order.CodeNotSent, admission.CodeEndOfRun:
		return order.NotSendable
	}
	return order.Held
}

func kindOf(s order.Spec) admission.Kind { return admission.KindOf(s.Exit, s.Protects) }

// sendDeadline is when an order expires: at the close that follows the first time it is about to leave,
// which is when it was judged. Exits are placed between closes too, and while no candles come, so it is not
// a matter of steps.
func (se *session) sendDeadline(s order.Spec) market.Time {
	if by, ok := se.calls.leaveBy[s.ClientOrderID]; ok {
		return by
	}
	by := se.steps.closed
	for now := se.books.now(); by <= now; {
		by = se.cfg.Timeframe.Next(by)
	}
	se.calls.leaveBy[s.ClientOrderID] = by
	if s.Sibling != "" {
		se.calls.leaveBy[s.Sibling] = by
	}
	return by
}

// sendOrder hands an order, or a pair, to the connector.
func (se *session) sendOrder(f order.Effect) {
	s, ok := se.books.manager.Book().Get(f.Order)
	if !ok {
		return
	}
	if no := se.admitSend(s); no != "" {
		_ = se.books.applyEvent(order.Event{Kind: no, Source: order.FromLocal, ClientOrderID: f.Order})
		return
	}
	if err := se.books.applyEvent(order.Event{Kind: order.Handed, Source: order.FromLocal,
		ClientOrderID: f.Order}); err != nil {
		return // taken back in the meantime, or the barrier fell
	}
	if !se.books.commitBatch() {
		// It is written down as an intent, which is what counts; but nothing more leaves.
		se.applySubmitReply(f, exchange.Result{Outcome: exchange.NotSent, Message: "the journal failed"},
			[2]exchange.Order{})
		return
	}
	var orders [2]exchange.Order
	se.callVenue(callLimit, time.Time{},
		func(ctx context.Context, c *exchange.Connection) (r exchange.Result) {
			failpoint.Point(failpoint.SubmitBeforeWrite)
			if no := admission.Judge(admission.Conditions{Barrier: se.barrier}, kindOf(s.Spec)); no.Denies() {
				return no.Result()
			}
			if f.Pair != nil {
				r, orders = c.SubmitPair(ctx, *f.Pair)
			} else {
				r, orders[0] = c.Submit(ctx, s.Spec.Request())
			}
			failpoint.Point(failpoint.SubmitAfterWrite)
			return r
		}, func(r exchange.Result, _ time.Time) {
			failpoint.Point(failpoint.SubmitReplyRead)
			se.applySubmitReply(f, r, orders)
		})
}

// applySubmitReply takes the answer to a submit. An order that the connector did not take because it is
// gone may have reached it before.
func (se *session) applySubmitReply(f order.Effect, r exchange.Result, orders [2]exchange.Order) {
	ids := []string{f.Order}
	if f.Pair != nil {
		ids = []string{f.Pair.LimitID, f.Pair.StopID}
	}
	for i, id := range ids {
		_ = se.books.applyEvent(order.Event{Kind: order.SubmitReply, Source: order.FromReply,
			ClientOrderID: id, Attempt: f.Attempt, Result: r, Order: orders[i]})
	}
}

func (se *session) queryOrder(f order.Effect) {
	s, ok := se.books.manager.Book().Get(f.Order)
	if !ok {
		return
	}
	now := time.Now()
	if se.calls.slot.Before(now) {
		se.calls.slot = now
	}
	at := se.calls.slot
	se.calls.slot = at.Add(querySpacing)
	var got exchange.Order
	se.callVenue(queryLimit, at, func(ctx context.Context, c *exchange.Connection) (r exchange.Result) {
		failpoint.Point(failpoint.QueryBefore)
		r, got = c.Query(ctx, s.Spec.Ref())
		failpoint.Point(failpoint.QueryAfter)
		return r
	}, func(r exchange.Result, asked time.Time) {
		_ = se.books.applyEvent(order.Event{Kind: order.QueryReply, Source: order.FromQuery,
			ClientOrderID: f.Order, Result: r, Order: got, RequestedAt: asked})
	})
}

func (se *session) cancelOrder(f order.Effect) {
	s, ok := se.books.manager.Book().Get(f.Order)
	if !ok {
		return
	}
	if se.loop.stopped {
		failpoint.Point(failpoint.StopCancelling)
	}
	var got exchange.Order
	se.callVenue(callLimit, time.Time{},
		func(ctx context.Context, c *exchange.Connection) (r exchange.Result) {
			failpoint.Point(failpoint.CancelBeforeWrite)
			r, got = c.Cancel(ctx, s.Spec.Ref())
			failpoint.Point(failpoint.CancelAfterWrite)
			return r
		}, func(r exchange.Result, asked time.Time) {
			_ = se.books.applyEvent(order.Event{Kind: order.CancelReply, Source: order.FromReply,
				ClientOrderID: f.Order, Result: r, Order: got, RequestedAt: asked})
		})
}

// readVenue reads something of the venue beside the loop; done gets it in the loop.
func readVenue[T any](se *session, read func(context.Context, *exchange.Connection) (T, error),
	done func(got T, asked time.Time, err error)) {
	var got T
	var err error
	se.callVenue(callLimit, time.Time{}, func(ctx context.Context, c *exchange.Connection) exchange.Result {
		got, err = read(ctx, c)
		return exchange.ResultOf(err)
	}, func(r exchange.Result, asked time.Time) {
		if err == nil && r.Outcome != exchange.Accepted {
			err = &exchange.Error{Result: r}
		}
		done(got, asked, err)
	})
}

// ignore is for what is read in its turn: an answer that did not come is asked for again.
func ignore(error) {}

// fetchFills asks for the fills of a symbol since a time of ours; done gets why they did not come.
func (se *session) fetchFills(symbol market.Symbol, since time.Time, done func(error)) {
	from := se.venueTime(since)
	readVenue(se, func(ctx context.Context, c *exchange.Connection) (exchange.Fills, error) {
		return c.Fills(ctx, symbol, from)
	}, func(page exchange.Fills, asked time.Time, err error) {
		if err == nil {
			se.books.change(func() (r oms.Result) {
				r, _ = se.books.manager.FillsPage(symbol, page, since, asked, time.Now())
				return r
			}, order.FromFills)
		}
		done(err)
	})
}

// clockMargin is room for what the clocks are apart.
const clockMargin = 5 * time.Second

// venueTime returns a moment of ours at the venue, with room for what the clocks are apart. It goes by the
// time that has passed: a clock that is set meanwhile does not move it. A venue with a time of its own is
// asked for everything.
func (se *session) venueTime(t time.Time) market.Time {
	if se.link == nil || se.link.own {
		return 0
	}
	return se.venue.At(t).Add(-clockMargin)
}

// localTime is when it was some time at the venue, by our clock and not later than now.
func (se *session) localTime(t market.Time) time.Time {
	if se.link.own {
		return t.Time()
	}
	at := se.venue.When(t)
	if now := time.Now(); at.After(now) {
		return now
	}
	return at
}

// checkSkew warns of a clock that is off, and again when it is off by something else.
func (se *session) checkSkew(offset time.Duration) {
	switch {
	case offset.Abs() <= warnSkew:
		se.skew = 0
		se.books.clearAlarm(CodeClockSkew, "")
	case (offset - se.skew).Abs() > warnSkew:
		se.skew = offset
		se.books.raiseWarning(CodeClockSkew,
			"this machine's clock is "+offset.Abs().String()+" off that of "+se.cfg.Venue.ID)
	}
}
