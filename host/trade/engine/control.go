package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/order/desk"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Refused is a control that could not be carried out.
type Refused struct{ Reason, Message string }

// Error is the message.
func (r *Refused) Error() string { return r.Message }

// StopAs says what the stop of the run does with its orders and positions, whatever the service's option is.
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
		return fmt.Sprintf("Entries are paused, %d are being cancelled, %d positions are being sold", entries, n), nil
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
		_ = e.books.changeDesk(note{source: order.FromLocal}, func() (r desk.Result, _ error) {
			r, found = e.books.desk.CancelOrder(id, time.Now())
			return r, nil
		})
		if !found {
			return "", &Refused{"no_order", fmt.Sprintf("The run has no open order %s.", id)}
		}
		return "Order " + id + " is being cancelled", nil
	})
}

func (bk *bookkeeper) pauseEntries() {
	bk.guard.Raise(risk.Reason{
		Code: CodePaused, State: risk.Reducing, Clears: risk.WhenGone, Since: bk.now(), Message: "the operator has paused the entries",
	})
	bk.raiseWarning(CodePaused, "the operator has paused the entries")
}

func (bk *bookkeeper) cancelEntries() (n int) {
	_ = bk.changeDesk(note{source: order.FromLocal}, func() (r desk.Result, _ error) {
		r, n = bk.desk.CancelEntries(time.Now())
		return r, nil
	})
	return n
}

func (bk *bookkeeper) closePosition(s market.Symbol) (held bool) {
	_ = bk.changeDesk(note{source: order.FromLocal}, func() (r desk.Result, _ error) {
		r, held = bk.desk.Close(s, time.Now())
		return r, nil
	})
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
		if e.books.desk == nil || e.stopped || e.failure != nil {
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
