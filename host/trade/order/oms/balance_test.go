package oms

import (
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// closing returns a bracket of 3 whose pair is being taken back for a close.
func closing(t *testing.T) (s *harness, limit, stop string) {
	t.Helper()
	s = newHarness(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Percent: 0.05},
		TakeProfit: &market.Child{Percent: 0.1}})
	s.balance() // all of it is locked by the pair
	s.hold = true
	s.decide(market.Intent{Action: market.Close})
	limit, stop = s.open[0].ClientOrderID, s.open[1].ClientOrderID
	return s, limit, stop
}

// TestCloseBesideAPair closes with the reports of the legs and the balances in every order in which they may
// come.
func TestCloseBesideAPair(t *testing.T) {
	for name, reports := range map[string]func(s *harness, limit, stop string){
		"limit, locked, stop": func(s *harness, limit, stop string) {
			s.end(limit, exchange.OrderCanceled)
			s.manager.SetFree("BTC", d("0")) // the other leg still locks it
			s.end(stop, exchange.OrderCanceled)
		},
		"stop, locked, limit": func(s *harness, limit, stop string) {
			s.end(stop, exchange.OrderCanceled)
			s.manager.SetFree("BTC", d("0"))
			s.end(limit, exchange.OrderCanceled)
		},
		"limit, stop, locked": func(s *harness, limit, stop string) {
			s.end(limit, exchange.OrderCanceled)
			s.end(stop, exchange.OrderCanceled)
			s.manager.SetFree("BTC", d("0")) // it was read before
		},
		"limit, stop, free": func(s *harness, limit, stop string) {
			s.end(limit, exchange.OrderCanceled)
			s.end(stop, exchange.OrderCanceled)
			s.manager.SetFree("BTC", d("3"))
		},
	} {
		s, limit, stop := closing(t)
		reports(s, limit, stop)
		s.wait(time.Second)
		if got := s.shows(); got != closedByStrategy {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestCloseWaitsNotForEver: base that somebody else locked is not there to sell, and what is free is sold.
func TestCloseWaitsNotForEver(t *testing.T) {
	s, limit, stop := closing(t)
	s.locked = d("2")
	s.end(limit, exchange.OrderCanceled)
	s.manager.SetFree("BTC", d("0"))
	s.end(stop, exchange.OrderCanceled)
	s.wait(4 * time.Second)
	if got, want := s.shows(), "entry:filled:3 stop_loss:open:0 take_profit:open:0 exit:new:0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s.hold = false
	s.release()
	s.wait(2 * time.Second)
	if got, want := s.shows(),
		"entry:filled:3 stop_loss:open:0 take_profit:open:0 exit:filled:1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestOrderInPlaceOfATakenBackOne: what a canceled order held is free for the next order of the same step, as
// in a backtest, once the venue has confirmed; an order at the market waits for a candle at most.
func TestOrderInPlaceOfATakenBackOne(t *testing.T) {
	held := func() *harness {
		s := newHarness(t)
		s.decide(market.Intent{Size: quantity(3)})
		s.decide(market.Intent{Side: market.Sell, Type: market.Limit, LimitPrice: 110, Size: quantity(3)})
		s.hold = true
		s.decide(market.Intent{Action: market.CancelAll}, market.Intent{Action: market.Close})
		return s
	}
	s := held()
	s.expect("entry:filled:3 exit:open:0 exit:new:0", "sell 3@110/0")
	s.hold = false
	s.release()
	s.wait(5 * time.Second)
	s.expect("entry:filled:3 exit:canceled:0:strategy exit:filled:3", "")

	s = held()
	s.candle(101, 99, 100)
	s.candle(101, 99, 100)
	s.expect("entry:filled:3 exit:open:0 exit:rejected:0:EXPIRED_BEFORE_SEND", "sell 3@110/0")

	s = newHarness(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 90, Size: quantity(100)})
	s.decide(market.Intent{Action: market.CancelAll},
		market.Intent{Type: market.Limit, LimitPrice: 95, Size: quantity(100)})
	s.wait(time.Second)
	s.expect("entry:canceled:0:strategy entry:open:0", "buy 100@95/0")
}
