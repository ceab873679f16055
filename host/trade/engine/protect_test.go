package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/assay-run/assay/host/alarm"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/admission"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// bracketed returns a purchase with both exits far away.
func bracketed(q float64) market.Intent {
	in := buy(q)
	in.StopLoss, in.TakeProfit = &market.Child{Percent: 0.5}, &market.Child{Percent: 0.5}
	return in
}

// protected holds a run against the invariant: what is held is protected, or its exits are being placed, or
// the operator is told. It asks what production asks.
func (e *Engine) protected() (bad []string) {
	if e.books.manager == nil {
		return nil
	}
	const late = 2 * time.Second // until somebody looks
	for _, g := range e.books.manager.Gaps(time.Now()) {
		told := slices.ContainsFunc(e.books.guard.Reasons(), func(r risk.Reason) bool {
			return r.Code == risk.Unprotected && r.State == risk.Halted
		})
		if !told && !g.Since.IsZero() && time.Since(g.Since) > 10*time.Second+late {
			bad = append(bad, g.String()+" since "+g.Since.String())
		}
	}
	return bad
}

// atEnd returns what a run that was in touch until its end leaves without its exits; "" when nothing.
func (e *Engine) atEnd() string {
	if e.recon.synced && len(e.bare) > 0 {
		return fmt.Sprintf("the run left what is not protected: %v", e.bare)
	}
	return ""
}

// settles says that the start sold with an order what earlier runs had left.
func (e *Engine) settles(id string) bool {
	for n := range e.starter.sold {
		if id == order.ClientID(e.cfg.RunID, n+1) {
			return true
		}
	}
	return false
}

// guarded holds a rig's run against the invariant, as long as it goes on.
func (r *rig) guarded() {
	done := make(chan []string, 1)
	r.engine.inbox.post(func() { done <- r.engine.protected() })
	select {
	case bad := <-done:
		if len(bad) > 0 {
			r.errorf("not protected, and nobody was told: %v", bad)
		}
	case <-time.After(5 * time.Second): // it has ended, or is about to
	}
}

// bare returns what the run holds and the venue has no working stop for, by the venue's own books.
func (b *bench) bare() (bare dec) {
	b.venue.mu.Lock()
	defer b.venue.mu.Unlock()
	bare = b.venue.coins
	for _, o := range b.venue.orders {
		if o.Status == exchange.OrderOpen && o.Side == market.Sell && o.StopPrice.IsPos() {
			bare = order.Minus(bare, order.Minus(o.Quantity, o.CumQuantity))
		}
	}
	return bare
}

// handCancels takes every open sale back at the venue, as a hand there does.
func (v *venue) handCancels() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, o := range v.orders {
		if o.Status == exchange.OrderOpen && o.Side == market.Sell {
			o.Status = exchange.OrderCanceled
			v.show(o)
		}
	}
}

// TestExitsAreRestored: exits that somebody cancelled at the venue, whether the stream said so or not, stand
// again.
func TestExitsAreRestored(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		inBubble(t, func(t *testing.T, b *bench) {
			b.at(1, bracketed(1))
			b.start()
			b.sleep(3 * minute)
			if b.bare().IsPos() {
				t.Fatalf("bare: %s", b.bare())
			}
			if deaf {
				b.venue.mu.Lock()
				b.venue.events = func(exchange.AccountEvent) []exchange.AccountEvent { return nil }
				b.venue.mu.Unlock()
			}
			b.venue.handCancels()
			b.sleep(time.Second)
			if deaf { // the next reconcile finds out
				b.sleep(ordersEvery + 5*time.Second)
			}
			b.sleep(3 * time.Second)
			if b.bare().IsPos() || b.phase() != Trading || b.warned(order.CodeUnprotected) {
				t.Errorf("deaf %t: %s bare, %v, %v", deaf, b.bare(), b.phases, b.warnings)
			}
			b.check(b.stop())
		})
	}
}

// TestStopHearsOfFilledExits: a stop that leaves the exits books one that has filled and that no stream told
// of.
func TestStopHearsOfFilledExits(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.onStop = Leave
		b.at(1, bracketed(1))
		b.start()
		b.sleep(3 * minute)
		b.venue.mu.Lock()
		b.venue.events = func(exchange.AccountEvent) []exchange.AccountEvent { return nil }
		for _, o := range b.venue.orders {
			if o.Status == exchange.OrderOpen && o.Side == market.Sell {
				b.venue.fill(o, d("95"))
			}
		}
		b.venue.mu.Unlock()
		b.check(b.stop())
		if held := b.engine.books.manager.Ledger().Quantity(btc); held.IsPos() {
			t.Errorf("the books still hold %s", held)
		}
	})
}

// TestUnprotectedHalts: exits that the venue does not take any more halt the run after ten seconds, do not
// end entries by being refused, and do not keep the strategy from getting out.
func TestUnprotectedHalts(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.limits.MaxRejectsInRow, b.limits.MaxRejects = 2, 2
		b.decide = func(v *View) ([]market.Intent, error) {
			switch v.Step {
			case 1:
				return []market.Intent{bracketed(1)}, nil
			case 4:
				return []market.Intent{buy(1)}, nil
			}
			return nil, nil
		}
		b.start()
		b.sleep(3 * minute)
		b.venue.goWrong(refuses)
		b.venue.handCancels()
		b.sleep(9 * time.Second)
		if b.phase() != Trading {
			t.Errorf("%v", b.phases)
		}
		b.sleep(3 * time.Second)
		if b.phase() != Halted || !b.warned(order.CodeUnprotected) || b.calls["submit"] != 2+3 {
			t.Errorf("%v %v, %d submits", b.phases, b.warnings, b.calls["submit"])
		}
		why := "?"
		b.engine.inbox.post(func() {
			why = admission.Judge(b.engine.books.conditions(), admission.Reduces).Code
		})
		b.look()
		if why != "" {
			t.Errorf("the strategy cannot sell what has no exits: %s", why)
		}
		b.sleep(2 * minute)
		if last := b.orders[len(b.orders)-1]; last.Side != market.Buy ||
			last.Reason != market.Reason(risk.StateHalted) {
			t.Errorf("%+v", last)
		}
		b.venue.goWrong(fine)
		b.sleep(11 * time.Second)
		if b.bare().IsPos() || b.phase() != Trading {
			t.Errorf("%s bare, %v %v", b.bare(), b.phases, b.warnings)
		}
		b.venue.goWrong(refuses)
		b.venue.handCancels()
		b.sleep(12 * time.Second)
		b.mu.Lock()
		open := b.set.Open()
		b.mu.Unlock()
		i := slices.IndexFunc(open, func(a alarm.Alarm) bool { return a.Code == order.CodeUnprotected })
		if i < 0 || open[i].Count != 2 || b.phase() != Halted {
			t.Errorf("told by %+v, %v", open, b.phases)
		}
		b.venue.goWrong(fine)
		b.sleep(11 * time.Second)
		b.check(b.stop())
	})
}
