package oms

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// guarded returns a position of 3 whose exits stand at the venue.
func guarded(t *testing.T, stop, aim *market.Child) *harness {
	t.Helper()
	s := newHarness(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: stop, TakeProfit: aim})
	s.wait(3 * time.Second)
	if gaps := s.manager.Gaps(s.at); len(gaps) > 0 {
		t.Fatal(gaps)
	}
	return s
}

var (
	below = &market.Child{Percent: 0.05}
	above = &market.Child{Percent: 0.1}
)

// TestVenueEndsAnExit: somebody cancelled it there, or it expired: it is placed again at once.
func TestVenueEndsAnExit(t *testing.T) {
	for _, status := range []exchange.OrderStatus{exchange.OrderCanceled, exchange.OrderExpired,
		exchange.OrderRejected} {
		s := guarded(t, below, nil)
		s.end(s.open[0].ClientOrderID, status)
		s.wait(2 * time.Second)
		s.expect("entry:filled:3 stop_loss:open:0", "sell 3@0/95")
		if len(s.codes)+len(s.manager.Gaps(s.at)) > 0 {
			t.Errorf("%s: %q, %v", status, s.codes, s.manager.Gaps(s.at))
		}
	}
}

// TestExitEndsWhileItIsTakenBack: an exit that is being renewed and ends by itself meanwhile is placed all
// the same.
func TestExitEndsWhileItIsTakenBack(t *testing.T) {
	for _, status := range []exchange.OrderStatus{exchange.OrderExpired, exchange.OrderRejected,
		exchange.OrderCanceled} {
		s := newHarness(t)
		s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(3), StopLoss: below})
		s.part(0, d("1"))
		s.wait(3 * time.Second)
		s.hold = true
		s.part(0, d("2"))
		s.end(s.open[0].ClientOrderID, status)
		s.hold = false
		s.release()
		s.wait(3 * time.Second)
		s.expect("entry:filled:3 stop_loss:open:0", "sell 3@0/94.05")
	}
}

// TestHalfAPairProtectsNothing: a limit leg that outlives its stop is taken back, and a pair placed for the
// rest.
func TestHalfAPairProtectsNothing(t *testing.T) {
	s := guarded(t, below, above)
	limit, stop := s.open[0].ClientOrderID, s.open[1].ClientOrderID
	delete(s.pairs, limit)
	delete(s.pairs, stop)
	s.end(stop, exchange.OrderCanceled)
	if gaps := s.manager.Gaps(s.at); fmt.Sprint(
		gaps) != "[3 of BTC/USDT is held without the exits it was bought with]" {
		t.Error(gaps)
	}
	s.wait(halfGrace)
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 take_profit:open:0", "sell 3@110/0, sell 3@0/95")
	if len(s.manager.Gaps(s.at)) > 0 || s.has(limit) {
		t.Error(s.manager.Gaps(s.at))
	}
}

// TestUnprotectedIsTold: exits that the venue refuses are placed at 0, 2 and 8 seconds; at 10 the run is
// halted and the operator told, until they stand.
func TestUnprotectedIsTold(t *testing.T) {
	s := guarded(t, below, above)
	began, sent := s.at, len(s.sent)
	s.refuse = 1000
	s.end(s.open[0].ClientOrderID, exchange.OrderCanceled)
	s.end(s.open[0].ClientOrderID, exchange.OrderCanceled)
	var tries []string
	for range 120 {
		if len(s.sent) > sent {
			tries = append(tries, s.at.Sub(began).String())
			sent = len(s.sent)
		}
		if s.at.Sub(began) == 9900*time.Millisecond && len(s.codes) > 0 {
			t.Error("told before its time:", s.codes)
		}
		s.wait(100 * time.Millisecond)
	}
	if got := strings.Join(tries, " "); got != "0s 2s 8s" {
		t.Errorf("placed at %s", got)
	}
	if !slices.Equal(s.codes, []string{"halt POSITION_UNPROTECTED"}) {
		t.Errorf("%q", s.codes)
	}
	s.refuse = 0
	s.wait(7 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 take_profit:open:0", "sell 3@110/0, sell 3@0/95")
	if !slices.Equal(s.codes, []string{"halt POSITION_UNPROTECTED", "resume POSITION_UNPROTECTED"}) {
		t.Errorf("%q", s.codes)
	}
}

// TestUnprotectedIsSold: with close the position is sold, every five seconds, at no less than the collar
// allows; not where the symbol does not trade, the fate of a sale is unknown or the account has less than
// the books.
func TestUnprotectedIsSold(t *testing.T) {
	bare := func(change func(*harness)) *harness {
		s := guarded(t, below, nil)
		s.manager.cfg.Unprotected, s.manager.cfg.Collar = Sell, d("0.05")
		s.refuse = 1000
		change(s)
		s.end(s.open[0].ClientOrderID, exchange.OrderCanceled)
		for range 40 {
			s.wait(500 * time.Millisecond)
		}
		return s
	}
	sold := func(s *harness) (n int) {
		for _, x := range s.sent {
			if x.TimeInForce == market.IOC {
				n++
				if x.LimitPrice.Cmp(d("95")) != 0 || x.Quantity.Cmp(d("3")) != 0 || !x.Protects || !x.Exit {
					t.Errorf("%+v", x)
				}
			}
		}
		return n
	}
	s := bare(func(s *harness) { s.refuse = 2 })
	if sold(s) != 0 { // its exits stood again before anything was sold
		t.Errorf("%d sales", sold(s))
	}
	s = bare(func(*harness) {})
	if n := sold(s); n < 2 || n > 3 {
		t.Errorf("%d sales in ten seconds", n)
	}
	s = bare(func(s *harness) { s.locked = d("2"); s.tellFree() })
	if sold(s) != 0 {
		t.Error("it was sold although the account is short of it")
	}
	s = bare(func(s *harness) {
		m := s.manager.sym[0].rules.Market
		m.Trading = false
		s.manager.SetMarket(m)
	})
	if sold(s) != 0 || !slices.Contains(s.codes, "halt POSITION_UNPROTECTED") {
		t.Errorf("%d sales of what does not trade, %q", sold(s), s.codes)
	}
}

// TestUnknownSaleHoldsExits: while the fate of a sale is not known no exit is placed, and the alarm stands.
func TestUnknownSaleHoldsExits(t *testing.T) {
	s := guarded(t, below, nil)
	lost := true
	s.wild = func(what string, n int) int {
		if what == "luck" && lost {
			return 6 // it never arrives, and nobody says so
		}
		return min(n-1, map[string]int{"work": 11, "drop": 1}[what])
	}
	s.end(s.open[0].ClientOrderID, exchange.OrderCanceled)
	s.work(99)
	sent := len(s.sent)
	for range 15 {
		s.wait(time.Second)
		s.work(99)
	}
	if len(s.sent) != sent || !slices.Contains(s.codes, "halt POSITION_UNPROTECTED") {
		t.Errorf("%d exits beside one of unknown fate, %q", len(s.sent)-sent, s.codes)
	}
	lost = false
	s.wild = nil
	for range 40 {
		s.work(99)
		s.wait(time.Second)
	}
	s.expect("entry:filled:3 stop_loss:open:0", "sell 3@0/95")
	if len(s.manager.Gaps(s.at)) > 0 {
		t.Error(s.manager.Gaps(s.at))
	}
}

// TestStopThatDoesNotSell: a stop whose price was reached and that still stands protects nothing: it is sold
// at the market.
func TestStopThatDoesNotSell(t *testing.T) {
	s := guarded(t, below, nil)
	s.candle(96, 90, 90)
	if len(s.manager.Gaps(s.at)) > 0 {
		t.Error("a stop has ten seconds to sell")
	}
	s.wait(protectGrace)
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:filled:3", "")
}

// TestTargetAlone: a bracket with only a target is covered by it; without a bracket nothing is guarded.
func TestTargetAlone(t *testing.T) {
	s := guarded(t, nil, above)
	s.refuse = 1000
	s.end(s.open[0].ClientOrderID, exchange.OrderCanceled)
	if len(s.manager.Gaps(s.at)) != 1 {
		t.Error("its target is gone")
	}
	s = guarded(t, below, above)
	s.decide(market.Intent{Action: market.Cancel, Ref: "o-000002"})
	s.wait(3 * time.Second)
	s.expect("entry:filled:3 stop_loss:canceled:0:strategy take_profit:open:0", "sell 3@110/0")
	s.decide(market.Intent{Action: market.CancelAll})
	s.wait(20 * time.Second)
	if len(s.manager.Gaps(s.at))+len(s.codes) > 0 {
		t.Errorf("%v %q", s.manager.Gaps(s.at), s.codes)
	}
}
