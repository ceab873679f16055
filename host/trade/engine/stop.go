package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/assay-run/assay/host/base/failpoint"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/order/desk"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Limits of a stop, from its beginning: until the orders are confirmed to be gone, and until what is
// held is sold. With CloseLimit and the end of the connector's process it is over within 28 seconds,
// and the result is written in the 30 that a service has when it is told to end.
const (
	unconfirmedAfter = 20 * time.Second
	flattenedAfter   = 21 * time.Second
	// protectFor is how much of that exits which are to stay may take to be placed.
	protectFor = 8 * time.Second
)

// codeEnding is why nothing but exits leaves between the wish to end a run and the barrier.
const codeEnding = "RUN_ENDING"

// stop ends the trading for a reason: the barrier, then the cancels until they are confirmed,
// then what the operator wants of the positions. It returns the reason, or what the stop itself
// failed by.
func (e *Engine) stop(cause error) error {
	if as := e.stopAs.Load(); as != nil {
		e.cfg.OnStop = *as // the operator's word on this run counts more than the service's option
	}
	began := time.Now()
	way := e.ending(cause)
	if way == Leave && e.desk != nil {
		e.protectFirst()
	}
	e.stopped = true
	flat := way == Flatten && e.desk != nil
	if !flat || !e.held() { // where time waits for answers nothing fills without candles
		e.endCandles()
	}
	e.enter(Stopping)
	e.pass.close()
	if e.desk == nil {
		return e.ended(cause)
	}
	e.failure = nil // what fails from here on does so by itself
	_ = e.change(note{source: order.FromLocal}, func() (desk.Result, error) { return e.desk.Barrier(time.Now()), nil })
	failpoint.Point(failpoint.StopBarrier)
	e.proposals = nil
	e.takeBack(way)
	e.work()
	left := e.settle(time.Until(began.Add(unconfirmedAfter)), nil, func() []order.Status { return e.toConfirm(way) })
	if len(left) == 0 && flat {
		left = e.flatten(time.Until(began.Add(flattenedAfter)))
	}
	e.endCandles()
	if len(left) > 0 {
		return e.unconfirmed(cause, way, left)
	}
	return e.ended(cause)
}

// protectFirst gives the exits that are to stay the time to be placed: they may just be renewed. Nothing else leaves
// meanwhile, and a run that is out of touch does not wait.
func (e *Engine) protectFirst() {
	e.guard.Raise(risk.Reason{Code: codeEnding, State: risk.Halted, Clears: risk.AtEnd, Since: e.now(), Message: "the run is ending"})
	gaps := func() (gaps []desk.Gap) {
		e.locked(func() { gaps = e.desk.Gaps(time.Now()) })
		return gaps
	}
	late := time.Now().Add(protectFor)
	for e.unwritten == nil && e.link != nil && e.recon.synced && len(gaps()) > 0 && time.Now().Before(late) {
		e.steps.deciding = true // no further step is taken
		e.wait(nil, nil)
		e.drain()
	}
	e.bare = gaps()
}

// endCandles ends the stream of candles.
func (e *Engine) endCandles() {
	if e.steps.cancel != nil {
		e.steps.cancel()
	}
}

// ended is the reason of the end, unless the journal failed on the way.
func (e *Engine) ended(cause error) error {
	_, fault := errors.AsType[*Fault](cause)
	finished := cause == nil || errors.Is(cause, errFinished)
	switch {
	case e.unwritten != nil && !fault && (finished || e.asked(cause)):
		return e.unwritten // what the stop did is not all written down
	case finished:
		return nil
	}
	return cause
}

// ending is what becomes of what is held. Where the strategy, the venue or the host failed exits stand; where the
// candles have ended nothing moves any more.
func (e *Engine) ending(cause error) OnStop {
	switch {
	case cause == nil, errors.Is(cause, errFinished):
		return Cancel
	case !e.asked(cause):
		return Leave
	case e.cfg.Shutdown != nil && e.cfg.Shutdown(cause):
		return e.cfg.OnShutdown
	}
	return e.cfg.OnStop
}

// asked says that somebody wanted this end, so that --on-stop holds: not when the strategy or the
// venue failed.
func (e *Engine) asked(cause error) bool {
	if f, ok := errors.AsType[*Fault](cause); ok {
		return f.Code == CodeRiskKill
	}
	return cause != nil && e.cfg.Orderly != nil && e.cfg.Orderly(cause)
}

// takeBack cancels the orders of the run; its exits stay where they are to be left, and are asked for once more: one that
// has filled belongs into the books.
func (e *Engine) takeBack(way OnStop) {
	if way != Leave {
		_ = e.change(note{source: order.FromLocal}, func() (desk.Result, error) { return e.desk.CancelAll(time.Now()), nil })
		return
	}
	for _, s := range e.desk.Book().Pending() {
		if !s.Spec.Exit {
			_ = e.apply(order.Event{Kind: order.CancelAsked, Source: order.FromLocal, ClientOrderID: s.Spec.ClientOrderID})
		} else if s.State == order.Open || s.State == order.Partial {
			e.todo = append(e.todo, order.Effect{Do: order.Query, Order: s.Spec.ClientOrderID, Symbol: s.Spec.Symbol})
		}
	}
}

// toConfirm is the orders whose end, or whose rest, is not known.
func (e *Engine) toConfirm(way OnStop) []order.Status {
	var list []order.Status
	for _, s := range e.desk.Book().Pending() {
		if way == Leave && s.Spec.Exit && s.Settled && (s.State == order.Open || s.State == order.Partial) {
			continue
		}
		list = append(list, s)
	}
	return list
}

// settle goes on with everything but steps, which pass undecided if there is a channel of them, until nothing is
// left, and returns what is at the end of the time.
func (e *Engine) settle(limit time.Duration, steps <-chan feed.Offer, left func() []order.Status) []order.Status {
	over := make(chan struct{})
	late := time.AfterFunc(limit, func() { close(over) })
	defer late.Stop()
	for {
		e.drain()
		list := left()
		if len(list) == 0 && e.calls.flight == 0 {
			return nil
		}
		select {
		case <-over:
			return list
		default:
			e.wait(over, steps)
		}
	}
}

// flatten sells what is held, at the market.
func (e *Engine) flatten(limit time.Duration) []order.Status {
	e.pass.letExits()
	_ = e.change(note{source: order.FromLocal}, func() (desk.Result, error) { return e.desk.Flatten(time.Now()), nil })
	e.work()
	e.steps.taken.Answered()
	return e.settle(limit, e.steps.offers, e.desk.Book().Pending)
}

// unconfirmed is a stop that leaves orders of which nobody knows.
func (e *Engine) unconfirmed(cause error, way OnStop, left []order.Status) error {
	switch {
	case e.link == nil:
	case way == Leave:
		e.link.end()
		e.link.let(true) // the connector cancels entries, as if its host were gone
		e.use(nil)
	default:
		e.hangUp(e.link, true) // the connector tries once more
		e.use(nil)
	}
	ids := idsOf(left)
	f := &Fault{
		Code: CodeUnconfirmed, Data: map[string]any{"orders": ids}, Err: cause,
		Message: fmt.Sprintf("%d orders could not be confirmed as gone within %s: look at them at %s", len(ids), unconfirmedAfter, e.cfg.Venue.ID),
	}
	if cause != nil && !e.asked(cause) && !errors.Is(cause, errFinished) {
		f.Data["cause"] = cause.Error()
	}
	return f
}

// Kept is what the run leaves at the venue, for people; "" when nothing. Call it once Run has returned, with the gate held.
func (e *Engine) Kept() string {
	if e.desk == nil {
		return ""
	}
	var parts []string
	for _, p := range e.desk.Positions() {
		parts = append(parts, fmt.Sprintf("Kept: %s of %s.", p.Quantity.Trim(0), p.Symbol))
	}
	for _, s := range e.desk.Book().Pending() {
		if s.State == order.Open || s.State == order.Partial {
			price := s.Spec.StopPrice
			if !price.IsPos() {
				price = s.Spec.LimitPrice
			}
			parts = append(parts, fmt.Sprintf("Left open: %s, %s %s %s at %s.", s.Spec.ClientOrderID, s.Spec.Side, s.Spec.Type,
				order.Minus(s.Spec.Quantity, s.Filled).Trim(0), price.Trim(0)))
		}
	}
	for _, g := range e.bare {
		parts = append(parts, "Not protected: "+g.String()+".")
	}
	return strings.Join(parts, " ")
}

// Books is the account as results show it, with the gate held; false before it is known.
func (e *Engine) Books() (Books, bool) { return Books{e.desk}, e.desk != nil }

// Books are the books of a live run. They implement run.Books; call them with the gate held.
type Books struct{ desk *desk.Desk }

// InitialCash is the free quote balance at the start.
func (b Books) InitialCash() dec { return b.desk.Ledger().Initial() }

// CashExact is the cash of the run.
func (b Books) CashExact() dec { return b.desk.Ledger().Cash() }

// Positions are the open ones, in request order.
func (b Books) Positions() ([]market.Position, error) {
	return append([]market.Position{}, b.desk.Positions()...), nil
}

// Equity is cash plus every position at its last close.
func (b Books) Equity() dec { return b.desk.Equity() }

// FinalValue is cash plus every position at its last close.
func (b Books) FinalValue() (dec, error) { return b.desk.Equity(), nil }
