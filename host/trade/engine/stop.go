package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/assay-run/assay/host/base/failpoint"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/order/oms"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Refused is a control that could not be carried out.
type Refused struct{ Reason, Message string }

// Error returns the message.
func (r *Refused) Error() string { return r.Message }

// StopAs sets what the stop of the run does with its orders and positions, whatever the service's option is.
func (e *Engine) StopAs(o OnStop) { e.stopAs.Store(&o) }

// Pause lets no entry leave until Resume.
func (e *Engine) Pause(ctx context.Context) (string, error) {
	return e.runControl(ctx, func() (string, error) {
		e.books.pauseEntries()
		return "Entries are paused", nil
	})
}

// Resume ends a pause.
func (e *Engine) Resume(ctx context.Context) (string, error) {
	return e.runControl(ctx, func() (string, error) {
		if !e.books.guard.Stands(CodePaused) {
			return "", &Refused{"not_paused", "The run is not paused."}
		}
		e.books.flattens = false
		e.books.guard.Clear(CodePaused)
		e.books.clearAlarm(CodePaused, "")
		return "Entries are let again", nil
	})
}

// Flatten pauses, takes entries back and sells everything.
func (e *Engine) Flatten(ctx context.Context) (string, error) {
	return e.runControl(ctx, func() (string, error) {
		e.books.pauseEntries()
		e.books.flattens = true
		entries := e.books.cancelEntries()
		n := 0
		for _, s := range e.cfg.Symbols {
			if e.books.closePosition(s) {
				n++
			}
		}
		return fmt.Sprintf("Entries are paused, %d are being cancelled, %d positions are being sold", entries,
			n), nil
	})
}

// Close sells what is held of a symbol.
func (e *Engine) Close(ctx context.Context, s market.Symbol) (string, error) {
	return e.runControl(ctx, func() (string, error) {
		if !e.books.closePosition(s) {
			return "", &Refused{"no_position", fmt.Sprintf("The run holds no %s.", s)}
		}
		return fmt.Sprintf("The position in %s is being sold", s), nil
	})
}

// Cancel takes back one order, or all entries where the id is empty.
func (e *Engine) Cancel(ctx context.Context, id string) (string, error) {
	return e.runControl(ctx, func() (string, error) {
		if id == "" {
			return fmt.Sprintf("%d entries are being cancelled", e.books.cancelEntries()), nil
		}
		found := false
		e.books.change(func() (r oms.Result) {
			r, found = e.books.manager.CancelOrder(id, time.Now())
			return r
		}, order.FromLocal)
		if !found {
			return "", &Refused{"no_order", fmt.Sprintf("The run has no open order %s.", id)}
		}
		return "Order " + id + " is being cancelled", nil
	})
}

func (bk *bookkeeper) pauseEntries() {
	bk.guard.Raise(risk.Reason{
		Code: CodePaused, State: risk.Reducing, Clears: risk.WhenGone, Since: bk.now(),
		Message: "the operator has paused the entries",
	})
	bk.raiseWarning(CodePaused, "the operator has paused the entries")
}

func (bk *bookkeeper) cancelEntries() (n int) {
	bk.change(func() (r oms.Result) {
		r, n = bk.manager.CancelEntries(time.Now())
		return r
	}, order.FromLocal)
	return n
}

func (bk *bookkeeper) closePosition(s market.Symbol) (held bool) {
	bk.change(func() (r oms.Result) {
		r, held = bk.manager.Close(s, time.Now())
		return r
	}, order.FromLocal)
	return held
}

// runControl has the loop do something for the operator, once the books are there and until the stop begins.
func (e *Engine) runControl(ctx context.Context, f func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	e.inbox.post(func() {
		if e.books.manager == nil || e.stopped || e.failure != nil {
			done <- answer{"", &Refused{"not_trading", "The run does not trade yet, or not any more."}}
			return
		}
		text, err := f()
		e.updatePhase()
		done <- answer{text, err}
	})
	select {
	case a := <-done:
		return a.text, a.err
	case <-ctx.Done():
		return "", &Refused{"no_answer", "The run has not answered in time: look at its status."}
	}
}

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

// stopTrading ends the trading for a reason: the barrier, then the cancels until they are confirmed,
// then what was chosen for the positions. It returns the reason, or what the stop itself
// failed by.
func (e *Engine) stopTrading(cause error) error {
	if as := e.stopAs.Load(); as != nil {
		e.cfg.OnStop = *as // the operator's word on this run counts more than the service's option
	}
	began := time.Now()
	way := e.chooseOnStop(cause)
	if way == Leave && e.books.manager != nil {
		e.protectFirst()
	}
	e.stopped = true
	flat := way == Flatten && e.books.manager != nil
	if !flat || !e.session.venueWaits() { // where time waits for answers nothing fills without candles
		e.steps.endCandles()
	}
	e.enterPhase(Stopping)
	e.session.barrier.Close()
	if e.books.manager == nil {
		return e.endError(cause)
	}
	e.failure = nil // what fails from here on does so by itself
	e.books.change(func() oms.Result { return e.books.manager.Barrier(time.Now()) }, order.FromLocal)
	failpoint.Point(failpoint.StopBarrier)
	e.books.proposals = nil
	e.cancelOrders(way)
	e.books.runEffects()
	left := e.awaitOrders(time.Until(began.Add(unconfirmedAfter)), nil, func() []order.Status {
		return e.unconfirmedOrders(way)
	})
	if len(left) == 0 && flat {
		left = e.flattenPositions(time.Until(began.Add(flattenedAfter)))
	}
	e.steps.endCandles()
	if len(left) > 0 {
		return e.stopUnconfirmed(cause, way, left)
	}
	return e.endError(cause)
}

// protectFirst gives the exits that are to stay the time to be placed: they may just be renewed. Nothing
// else leaves meanwhile, and a run that is out of touch does not wait.
func (e *Engine) protectFirst() {
	e.books.guard.Raise(risk.Reason{Code: codeEnding, State: risk.Halted, Clears: risk.AtEnd,
		Since: e.books.now(), Message: "the run is ending"})
	gaps := func() (gaps []oms.Gap) {
		e.books.withGate(func() { gaps = e.books.manager.Gaps(time.Now()) })
		return gaps
	}
	late := time.Now().Add(protectFor)
	for e.unwritten == nil && e.session.link != nil && e.recon.synced && len(gaps()) > 0 &&
		time.Now().Before(late) {
		e.steps.deciding = true // no further step is taken
		e.waitOnce(nil, nil)
		e.drainInbox()
	}
	e.bare = gaps()
}

// endCandles ends the stream of candles.
func (st *steps) endCandles() {
	if st.cancel != nil {
		st.cancel()
	}
}

// endError returns the reason of the end, unless the journal failed on the way.
func (e *Engine) endError(cause error) error {
	_, fault := errors.AsType[*Fault](cause)
	finished := cause == nil || errors.Is(cause, errFinished)
	switch {
	case e.unwritten != nil && !fault && (finished || e.wasRequested(cause)):
		return e.unwritten // what the stop did is not all written down
	case finished:
		return nil
	}
	return cause
}

// chooseOnStop returns what becomes of what is held. Where the strategy, the venue or the host failed exits
// stand; where the candles have ended nothing moves any more.
func (e *Engine) chooseOnStop(cause error) OnStop {
	switch {
	case cause == nil, errors.Is(cause, errFinished):
		return Cancel
	case !e.wasRequested(cause):
		return Leave
	case e.cfg.Shutdown != nil && e.cfg.Shutdown(cause):
		return e.cfg.OnShutdown
	}
	return e.cfg.OnStop
}

// wasRequested reports whether this end was asked for, so that --on-stop holds: not when the strategy or the
// venue failed.
func (e *Engine) wasRequested(cause error) bool {
	if f, ok := errors.AsType[*Fault](cause); ok {
		return f.Code == CodeRiskKill
	}
	return cause != nil && e.cfg.Orderly != nil && e.cfg.Orderly(cause)
}

// cancelOrders cancels the orders of the run; its exits stay where they are to be left, and are asked for
// once more: one that has filled belongs into the books.
func (e *Engine) cancelOrders(way OnStop) {
	if way != Leave {
		e.books.change(func() oms.Result { return e.books.manager.CancelAll(time.Now()) }, order.FromLocal)
		return
	}
	for _, s := range e.books.manager.Book().Pending() {
		if !s.Spec.Exit {
			_ = e.books.applyEvent(order.Event{Kind: order.CancelAsked, Source: order.FromLocal,
				ClientOrderID: s.Spec.ClientOrderID})
		} else if s.State == order.Open || s.State == order.Partial {
			e.books.effects = append(e.books.effects,
				order.Effect{Do: order.Query, Order: s.Spec.ClientOrderID, Symbol: s.Spec.Symbol})
		}
	}
}

// unconfirmedOrders returns the orders whose end, or whose rest, is not known.
func (e *Engine) unconfirmedOrders(way OnStop) []order.Status {
	var list []order.Status
	for _, s := range e.books.manager.Book().Pending() {
		if way == Leave && s.Spec.Exit && s.Settled && (s.State == order.Open || s.State == order.Partial) {
			continue
		}
		list = append(list, s)
	}
	return list
}

// awaitOrders goes on with everything but steps, which pass undecided if there is a channel of them, until
// nothing is left, and returns what is at the end of the time.
func (e *Engine) awaitOrders(limit time.Duration, steps <-chan feed.Offer,
	left func() []order.Status) []order.Status {
	over := make(chan struct{})
	late := time.AfterFunc(limit, func() { close(over) })
	defer late.Stop()
	for {
		e.drainInbox()
		list := left()
		if len(list) == 0 && e.session.calls.flight == 0 {
			return nil
		}
		select {
		case <-over:
			return list
		default:
			e.waitOnce(over, steps)
		}
	}
}

// flattenPositions sells what is held, at the market.
func (e *Engine) flattenPositions(limit time.Duration) []order.Status {
	e.session.barrier.LetExits()
	e.books.change(func() oms.Result { return e.books.manager.Flatten(time.Now()) }, order.FromLocal)
	e.books.runEffects()
	e.steps.taken.Answered()
	return e.awaitOrders(limit, e.steps.offers, e.books.manager.Book().Pending)
}

// stopUnconfirmed returns a stop that leaves orders of unknown fate.
func (e *Engine) stopUnconfirmed(cause error, way OnStop, left []order.Status) error {
	switch {
	case e.session.link == nil:
	case way == Leave:
		e.session.link.end()
		e.session.link.let(true) // the connector cancels entries, as if its host were gone
		e.session.useLink(nil)
	default:
		e.session.closeLink(e.session.link, true) // the connector tries once more
		e.session.useLink(nil)
	}
	ids := idsOf(left)
	f := &Fault{
		Code: CodeUnconfirmed, Data: map[string]any{"orders": ids}, Err: cause,
		Message: fmt.Sprintf("%d orders could not be confirmed as gone within %s: look at them at %s",
			len(ids), unconfirmedAfter, e.cfg.Venue.ID),
	}
	if cause != nil && !e.wasRequested(cause) && !errors.Is(cause, errFinished) {
		f.Data["cause"] = cause.Error()
	}
	return f
}

// Kept returns what the run leaves at the venue, for people; "" when nothing. Call it once Run has returned,
// with the gate held.
func (e *Engine) Kept() string {
	if e.books.manager == nil {
		return ""
	}
	var parts []string
	for _, p := range e.books.manager.Positions() {
		parts = append(parts, fmt.Sprintf("Kept: %s of %s.", p.Quantity.Trim(0), p.Symbol))
	}
	for _, s := range e.books.manager.Book().Pending() {
		if s.State == order.Open || s.State == order.Partial {
			price := s.Spec.StopPrice
			if !price.IsPos() {
				price = s.Spec.LimitPrice
			}
			parts = append(parts,
				fmt.Sprintf("Left open: %s, %s %s %s at %s.", s.Spec.ClientOrderID, s.Spec.Side, s.Spec.Type,
					order.Minus(s.Spec.Quantity, s.Filled).Trim(0), price.Trim(0)))
		}
	}
	for _, g := range e.bare {
		parts = append(parts, "Not protected: "+g.String()+".")
	}
	return strings.Join(parts, " ")
}

// Books returns the account as results show it, with the gate held; false before it is known.
func (e *Engine) Books() (Books, bool) { return Books{e.books.manager}, e.books.manager != nil }

// Books are the books of a live run. They implement run.Books; call them with the gate held.
type Books struct{ manager *oms.Manager }

// InitialCash returns the free quote balance at the start.
func (b Books) InitialCash() dec { return b.manager.Ledger().Initial() }

// CashExact returns the cash of the run.
func (b Books) CashExact() dec { return b.manager.Ledger().Cash() }

// Positions are the open ones, in request order.
func (b Books) Positions() ([]market.Position, error) {
	return append([]market.Position{}, b.manager.Positions()...), nil
}

// Equity is cash plus every position at its last close.
func (b Books) Equity() dec { return b.manager.Equity() }

// FinalValue is cash plus every position at its last close.
func (b Books) FinalValue() (dec, error) { return b.manager.Equity(), nil }
