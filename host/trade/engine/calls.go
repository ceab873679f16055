package engine

import (
	"context"
	"sync"
	"time"

	"github.com/assay-run/assay/host/base/failpoint"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/order/desk"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The deadlines of calls, and the least time between two queries.
const (
	callLimit    = 10 * time.Second
	queryLimit   = 5 * time.Second
	querySpacing = 100 * time.Millisecond
)

// pass is the lock that hands out submits. After close nothing passes but what is let.
type pass struct {
	mu           sync.Mutex
	closed, exit bool
}

// leave says whether an order may go to the connector now.
func (p *pass) leave(exit bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.closed || (p.exit && exit)
}

func (p *pass) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// letExits lets orders pass that shrink a position.
func (p *pass) letExits() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exit = true
}

// calls is what is under way at the venue.
type calls struct {
	flight int       // calls without an answer; of the engine's goroutine
	slot   time.Time // of the next query; likewise
	// leaveBy is the close before which an order must have left, by client order id, while it may still leave; likewise.
	leaveBy map[string]market.Time

	mu     sync.Mutex
	silent time.Time // no request before: the venue has banned us
}

// silence is the answer to a request while the venue wants none.
func (c *calls) silence(now time.Time) (exchange.Result, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !now.Before(c.silent) {
		return exchange.Result{}, false
	}
	return exchange.Result{Outcome: exchange.Banned, Message: "the venue wants silence", RetryAfterMS: c.silent.Sub(now).Milliseconds() + 1}, true
}

// banned begins the time in which nothing is asked.
func (c *calls) banned(r exchange.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(r.HoldOff()); until.After(c.silent) {
		c.silent = until
	}
}

// do is one thing that the desk wants of the venue.
func (e *Engine) do(f order.Effect) {
	switch f.Do {
	case order.Send:
		e.send(f)
	case order.Query:
		e.query(f)
	case order.Cancel:
		e.cancel(f)
	case order.FetchFills:
		e.fetch(f)
	case order.FetchBalances:
		e.readBalances(nil)
	}
}

// call runs f beside the loop and its answer in it. While the venue wants silence, or there
// is none, refused is the answer. Limit is the deadline, after is when to begin.
func (e *Engine) call(limit time.Duration, after time.Time, f func(context.Context, *exchange.Connection) exchange.Result, answer func(exchange.Result, time.Time)) {
	asked := time.Now()
	if r, no := e.refused(asked); no {
		answer(r, asked)
		return
	}
	l := e.link
	e.calls.flight++
	e.running.Go(func() {
		if wait := time.Until(after); wait > 0 {
			exchange.Pause(l.ctx, wait)
		}
		ctx, cancel := context.WithTimeout(l.ctx, limit)
		defer cancel()
		sent := time.Now()
		r, no := e.calls.silence(sent) // it may have begun while this one waited for its turn
		if !no {
			if r = f(ctx, l.conn); r.Outcome == exchange.Banned {
				e.calls.banned(r)
			}
		}
		took := time.Since(sent)
		e.inbox.post(func() {
			e.calls.flight--
			if r.Outcome != exchange.Unknown && r.Outcome != exchange.NotSent {
				e.tellLink(took)
			}
			if r.Outcome == exchange.Accepted {
				e.clear(string(exchange.Banned), "")
			}
			if r.Outcome == exchange.Banned && !no {
				e.warn(string(exchange.Banned), "the venue refuses all requests for a while: "+r.Message)
			}
			if r.Outcome == exchange.AuthFailed {
				e.fail(&exchange.Error{Result: r}) // whatever was asked: these keys open nothing any more
			}
			answer(r, sent)
		})
	})
}

// tellLink says how the connection stands, with what came of it just now.
func (e *Engine) tellLink(latency time.Duration) {
	if e.cfg.Link == nil {
		return
	}
	l := Link{Latency: latency}
	if e.link != nil {
		l.Up, l.Offset, l.Synthetic = e.recon.synced, e.link.offset, e.link.own
	}
	e.cfg.Link(l)
}

// refused is the answer to a request that is not made.
func (e *Engine) refused(now time.Time) (exchange.Result, bool) {
	if e.link == nil || e.link.down {
		return exchange.Result{Outcome: exchange.NotSent, Message: "there is no connector", RetryAfterMS: 1000}, true
	}
	return e.calls.silence(now)
}

// keepBack is what becomes of an order that may not leave now; "" when it may. It was judged when it was written down,
// and may have waited since: it expires at its close, and until then waits for what holds it back.
func (e *Engine) keepBack(s order.Status) order.Kind {
	if e.stopped {
		return "" // the stop has rules of its own
	}
	if e.now() >= e.leaveBy(s.Spec) {
		return order.NotSendable
	}
	if e.admit(risk.Order{Shrinks: s.Spec.Exit, Protects: s.Spec.Protects}) != "" {
		return order.Held
	}
	return ""
}

// leaveBy is when an order expires: at the close that follows the first time it is about to leave, which is when it was
// judged. Exits are placed between closes too, and while no candles come, so it is not a matter of steps.
func (e *Engine) leaveBy(s order.Spec) market.Time {
	if by, ok := e.calls.leaveBy[s.ClientOrderID]; ok {
		return by
	}
	by := e.steps.closed
	for now := e.now(); by <= now; {
		by = e.cfg.Timeframe.Next(by)
	}
	e.calls.leaveBy[s.ClientOrderID] = by
	if s.Sibling != "" {
		e.calls.leaveBy[s.Sibling] = by
	}
	return by
}

// send hands an order, or a pair, to the connector.
func (e *Engine) send(f order.Effect) {
	s, ok := e.desk.Book().Get(f.Order)
	if !ok {
		return
	}
	if no := e.keepBack(s); no != "" {
		_ = e.apply(order.Event{Kind: no, Source: order.FromLocal, ClientOrderID: f.Order})
		return
	}
	if err := e.apply(order.Event{Kind: order.Handed, Source: order.FromLocal, ClientOrderID: f.Order}); err != nil {
		return // taken back in the meantime, or the barrier fell
	}
	if !e.commit() {
		// It is written down as an intent, which is what counts; but nothing more leaves.
		e.replied(f, exchange.Result{Outcome: exchange.NotSent, Message: "the journal failed"}, [2]exchange.Order{})
		return
	}
	var orders [2]exchange.Order
	exit := s.Spec.Exit
	e.call(callLimit, time.Time{}, func(ctx context.Context, c *exchange.Connection) (r exchange.Result) {
		failpoint.Point(failpoint.SubmitBeforeWrite)
		if !e.pass.leave(exit) {
			return exchange.Result{Outcome: exchange.NotSent, Message: "the run is ending"}
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
		e.replied(f, r, orders)
	})
}

// replied takes the answer to a submit. An order that the connector did not take because it is
// gone may have reached it before.
func (e *Engine) replied(f order.Effect, r exchange.Result, orders [2]exchange.Order) {
	ids := []string{f.Order}
	if f.Pair != nil {
		ids = []string{f.Pair.LimitID, f.Pair.StopID}
	}
	for i, id := range ids {
		_ = e.apply(order.Event{Kind: order.SubmitReply, Source: order.FromReply, ClientOrderID: id, Attempt: f.Attempt, Result: r, Order: orders[i]})
	}
}

func (e *Engine) query(f order.Effect) {
	s, ok := e.desk.Book().Get(f.Order)
	if !ok {
		return
	}
	now := time.Now()
	if e.calls.slot.Before(now) {
		e.calls.slot = now
	}
	at := e.calls.slot
	e.calls.slot = at.Add(querySpacing)
	var got exchange.Order
	e.call(queryLimit, at, func(ctx context.Context, c *exchange.Connection) (r exchange.Result) {
		failpoint.Point(failpoint.QueryBefore)
		r, got = c.Query(ctx, s.Spec.Ref())
		failpoint.Point(failpoint.QueryAfter)
		return r
	}, func(r exchange.Result, asked time.Time) {
		_ = e.apply(order.Event{Kind: order.QueryReply, Source: order.FromQuery, ClientOrderID: f.Order, Result: r, Order: got, AskedAt: asked})
	})
}

func (e *Engine) cancel(f order.Effect) {
	s, ok := e.desk.Book().Get(f.Order)
	if !ok {
		return
	}
	if e.stopped {
		failpoint.Point(failpoint.StopCancelling)
	}
	var got exchange.Order
	e.call(callLimit, time.Time{}, func(ctx context.Context, c *exchange.Connection) (r exchange.Result) {
		failpoint.Point(failpoint.CancelBeforeWrite)
		r, got = c.Cancel(ctx, s.Spec.Ref())
		failpoint.Point(failpoint.CancelAfterWrite)
		return r
	}, func(r exchange.Result, asked time.Time) {
		_ = e.apply(order.Event{Kind: order.CancelReply, Source: order.FromReply, ClientOrderID: f.Order, Result: r, Order: got, AskedAt: asked})
	})
}

// fetch asks for the fills of a symbol.
func (e *Engine) fetch(f order.Effect) {
	e.fetchFills(f.Symbol, f.Since, nil)
}

// fetchFills asks for the fills of a symbol since a time of ours; done hears whether they came.
func (e *Engine) fetchFills(symbol market.Symbol, since time.Time, done func(error)) {
	var page exchange.Fills
	var err error
	from := e.venueTime(since)
	e.call(callLimit, time.Time{}, func(ctx context.Context, c *exchange.Connection) exchange.Result {
		page, err = c.Fills(ctx, symbol, from)
		return exchange.ResultOf(err)
	}, func(r exchange.Result, asked time.Time) {
		if err == nil && r.Outcome != exchange.Accepted {
			err = &exchange.Error{Result: r}
		}
		if err == nil {
			_ = e.change(note{source: order.FromFills}, func() (desk.Result, error) {
				r, _ := e.desk.FillsPage(symbol, page, since, asked, time.Now())
				return r, nil
			})
		}
		if done != nil {
			done(err)
		}
	})
}

// clockMargin is room for what the clocks are apart.
const clockMargin = 5 * time.Second

// venueTime is a moment of ours at the venue, with room for what the clocks are apart. It goes by the time that
// has passed: a clock that is set meanwhile does not move it. A venue with a time of its own is asked for everything.
func (e *Engine) venueTime(t time.Time) market.Time {
	if e.link == nil || e.link.own {
		return 0
	}
	return e.venue.At(t).Add(-clockMargin)
}

// moment is when it was some time at the venue, by our clock and not later than now.
func (e *Engine) moment(t market.Time) time.Time {
	if e.link.own {
		return t.Time()
	}
	at := e.venue.When(t)
	if now := time.Now(); at.After(now) {
		return now
	}
	return at
}

// skewed warns of a clock that is off, and again when it is off by something else.
func (e *Engine) skewed(offset time.Duration) {
	switch {
	case offset.Abs() <= warnSkew:
		e.skew = 0
		e.clear(CodeClockSkew, "")
	case (offset - e.skew).Abs() > warnSkew:
		e.skew = offset
		e.warn(CodeClockSkew, "this machine's clock is "+offset.Abs().String()+" off that of "+e.cfg.Venue.ID)
	}
}
