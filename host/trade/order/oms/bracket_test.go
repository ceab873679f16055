package oms

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// onTheWay returns a bracket of 3 whose pair is being sent while the strategy closes: the cancels of the pair
// come to the venue first and find nothing.
func onTheWay(t *testing.T, deaf bool) *harness {
	t.Helper()
	s := newHarness(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(3),
		StopLoss: &market.Child{Percent: 0.05}, TakeProfit: &market.Child{Percent: 0.1}})
	s.slow, s.deaf = true, deaf
	s.part(0, d("3"))
	s.decide(market.Intent{Action: market.Close})
	if s.stands() != "" || len(s.onWay) != 1 {
		t.Fatalf("at the venue %q, %d on the way", s.stands(), len(s.onWay))
	}
	s.slow, s.deaf = false, false
	s.onWay[0]()
	s.expect("entry:filled:3 stop_loss:open:0 take_profit:open:0 exit:new:0",
		"sell 3@108.9/0, sell 3@0/94.05")
	return s
}

const closedByStrategy = "entry:filled:3 stop_loss:canceled:0:position_closed " +
	"take_profit:canceled:0:position_closed exit:filled:3"

func TestCancelOvertakesItsOrder(t *testing.T) {
	s := onTheWay(t, false)
	s.wait(2 * time.Second)
	s.expect(closedByStrategy, "")
}

// TestUnansweredCancel: an engine that breaks the contract is told so, and the exits do not hang for ever.
func TestUnansweredCancel(t *testing.T) {
	s := onTheWay(t, true)
	s.wait(29 * time.Second)
	if len(s.alarms) != 0 {
		t.Errorf("%q", s.alarms)
	}
	s.wait(time.Second)
	if !slices.Contains(s.alarms, order.CodeUnanswered) {
		t.Errorf("%q", s.alarms)
	}
	s.expect(closedByStrategy, "")
}

// TestTrailingStopBesideABracket is the shrunk history in which a pair and a trailing stop were after the
// same base.
func TestTrailingStopBesideABracket(t *testing.T) {
	s := newHarness(t)
	bracket := market.Intent{Size: quantity(2.73), StopLoss: &market.Child{Percent: 0.05},
		TakeProfit: &market.Child{Percent: 0.1}}
	s.decide(bracket)
	s.decide(market.Intent{Side: market.Sell, Type: market.TrailingStop, ReduceOnly: true, TrailPercent: 0.05,
		Size: quantity(2.03)})
	s.part(0, d("1.11"))
	s.candle(103, 101, 102)
	s.expect("entry:filled:2.73 stop_loss:open:0 take_profit:open:0 exit:partially_filled:1.11",
		"sell 0.7@110/0, sell 0.7@0/95, sell 0.92@0/97.85")
	s.decide(market.Intent{Action: market.Close})
	bracket.Size = quantity(0.17)
	s.decide(bracket)
	s.wait(3 * time.Second)
	s.atRest(t)
	s.price("97.85")
	s.wait(3 * time.Second)
	s.atRest(t)
}

// TestExitsGrow: what an order of the strategy's held is free again, and has no other protection.
func TestExitsGrow(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Percent: 0.05}})
	s.decide(market.Intent{Side: market.Sell, Type: market.Limit, LimitPrice: 108, Size: quantity(1),
		ClientRef: "target"})
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 exit:open:0", "sell 1@108/0, sell 2@0/95")
	s.decide(market.Intent{Action: market.Cancel, Ref: "target"})
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 exit:canceled:0:strategy", "sell 3@0/95")

	s = newHarness(t)
	s.manager.SetFree("BTC", d("-1")) // as if a balance came late
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Percent: 0.05}})
	s.expect("entry:filled:3 stop_loss:open:0", "sell 2@0/95")
	s.manager.SetFree("BTC", d("1"))
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0", "sell 3@0/95")
}

// TestExitCanceledOnItsWay: an exit that the strategy gives up while risk and the journal have it does not
// come back.
func TestExitCanceledOnItsWay(t *testing.T) {
	for name, answer := range map[string]func(*harness, Proposal){
		"committed": func(s *harness, p Proposal) { s.run(s.manager.Commit(p, s.at)) },
		"denied":    func(s *harness, p Proposal) { s.run(s.manager.Deny(p, "STATE_HALTED", s.at)) },
	} {
		s, p := proposedExits(t)
		r, _, err := s.manager.Intents([]market.Intent{{Action: market.Cancel, Ref: "o-000002"}}, false, s.at)
		s.run(r, err)
		answer(s, p)
		s.wait(20 * time.Second)
		if got, want := s.shows(),
			"entry:filled:3 stop_loss:canceled:0:strategy take_profit:open:0"; got != want ||
			s.stands() != "sell 3@108.9/0" {
			t.Errorf("%s: the strategy sees %q, at the venue %q", name, got, s.stands())
		}
		s.atRest(t)
	}
}

// proposedExits returns a position of 3 whose pair is proposed.
func proposedExits(t *testing.T) (*harness, Proposal) {
	t.Helper()
	s := newHarness(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(3),
		StopLoss: &market.Child{Percent: 0.05}, TakeProfit: &market.Child{Percent: 0.1}})
	s.busy = true
	s.part(0, d("3"))
	s.busy, s.todo = false, nil
	p := Proposal{Shrinks: true, Protects: true, Specs: slices.Clone(s.manager.placer.proposed)}
	if len(p.Specs) != 2 {
		t.Fatalf("%d orders are proposed", len(p.Specs))
	}
	return s, p
}

// TestShutKeepsExits: while no order may leave, no exit is cancelled to make room, to be renewed or to follow
// the price; what was put off is done as soon as orders may leave again.
func TestShutKeepsExits(t *testing.T) {
	protected := func(stop, aim *market.Child) *harness {
		s := newHarness(t)
		s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(3), StopLoss: stop,
			TakeProfit: aim})
		s.part(0, d("2"))
		s.wait(3 * time.Second)
		s.deny, s.shut = "STATE_HALTED", true
		return s
	}
	reopen := func(s *harness) {
		s.deny, s.shut = "", false
		s.wait(time.Second)
		s.wait(3 * time.Second)
	}
	pair := func() *harness { return protected(&market.Child{Percent: 0.05}, &market.Child{Percent: 0.1}) }
	const stands = "buy 3@99/0, sell 2@108.9/0, sell 2@0/94.05"

	t.Run("a sale", func(t *testing.T) {
		s := pair()
		s.decide(market.Intent{Action: market.Close})
		s.wait(time.Minute)
		s.expect("entry:partially_filled:2 stop_loss:open:0 take_profit:open:0 exit:rejected:0:STATE_HALTED",
			stands)
	})
	t.Run("more that fills", func(t *testing.T) {
		s := pair()
		s.part(0, d("1"))
		s.wait(time.Minute)
		s.expect("entry:filled:3 stop_loss:open:0 take_profit:open:0", "sell 2@108.9/0, sell 2@0/94.05")
		reopen(s)
		s.expect("entry:filled:3 stop_loss:open:0 take_profit:open:0", "sell 3@108.9/0, sell 3@0/94.05")
	})
	t.Run("one of two is cancelled", func(t *testing.T) {
		s := pair()
		s.decide(market.Intent{Action: market.Cancel, Ref: "o-000003"})
		s.wait(time.Minute)
		s.expect("entry:partially_filled:2 stop_loss:open:0 take_profit:open:0", stands)
		reopen(s)
		s.expect("entry:partially_filled:2 stop_loss:open:0 take_profit:canceled:0:strategy",
			"buy 3@99/0, sell 2@0/94.05")
	})
	t.Run("all are cancelled", func(t *testing.T) {
		s := pair()
		s.decide(market.Intent{Action: market.CancelAll})
		s.expect("entry:canceled:2:strategy stop_loss:canceled:0:strategy take_profit:canceled:0:strategy",
			"")
	})
	t.Run("a trailing exit", func(t *testing.T) {
		s := protected(&market.Child{TrailPercent: 0.05}, nil)
		s.candle(120, 110, 120)
		s.wait(time.Minute)
		s.expect("entry:partially_filled:2 stop_loss:open:0", "buy 3@99/0, sell 2@0/94.05")
		reopen(s)
		s.expect("entry:partially_filled:2 stop_loss:open:0", "buy 3@99/0, sell 2@0/114")
	})
	t.Run("a trailing stop of the strategy's, and a replace", func(t *testing.T) {
		s := newHarness(t)
		s.decide(market.Intent{Size: quantity(3)})
		s.decide(market.Intent{Side: market.Sell, Type: market.TrailingStop, ReduceOnly: true,
			TrailPercent: 0.05, Size: quantity(3), ClientRef: "a"})
		s.deny, s.shut = "STATE_HALTED", true
		s.candle(120, 110, 118)
		if refused := s.decide(market.Intent{Action: market.Replace, Ref: "a",
			Size: quantity(1)}); refused[0] != "STATE_HALTED" {
			t.Errorf("the replace: %v", refused)
		}
		s.wait(time.Minute)
		s.expect("entry:filled:3 exit:open:0", "sell 3@0/95")
		reopen(s)
		s.expect("entry:filled:3 exit:open:0", "sell 3@0/114")
	})
}

// TestProposalsAreAnsweredOnce: what the order manager did not propose, changed, or took back is refused.
func TestProposalsAreAnsweredOnce(t *testing.T) {
	s, p := proposedExits(t)
	other := Proposal{Specs: slices.Clone(p.Specs), Protects: true}
	other.Specs[0].Quantity = d("4")
	refused := func(what string, p Proposal) {
		t.Helper()
		_, err := s.manager.Commit(p, s.at)
		_, err2 := s.manager.Deny(p, "CODE", s.at)
		if !errors.Is(err, ErrNotProposed) || !errors.Is(err2, ErrNotProposed) {
			t.Errorf("%s: %v, %v", what, err, err2)
		}
	}
	refused("changed", other)
	refused("empty", Proposal{})
	s.run(s.manager.Commit(p, s.at))
	refused("twice", p)
	s.expect("entry:filled:3 stop_loss:open:0 take_profit:open:0", "sell 3@108.9/0, sell 3@0/94.05")

	s, p = proposedExits(t)
	s.run(s.manager.Barrier(s.at), nil)
	refused("after the barrier", p)
	s.decide(market.Intent{Size: quantity(1)})
	s.expect("entry:filled:3 stop_loss:canceled:0:end_of_data take_profit:canceled:0:end_of_data "+
		"entry:rejected:0:end_of_data", "")
}

// TestPartsGetOneExit: an entry that is heard of in parts gets exits for all of it as soon as the last part
// is there; where that does not come soon, the first part gets its own.
func TestPartsGetOneExit(t *testing.T) {
	in := market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(3),
		StopLoss: &market.Child{Percent: 0.05}}
	s := newHarness(t)
	s.decide(in)
	s.part(0, d("1"))
	s.part(0, d("1"))
	s.expect("entry:partially_filled:2 stop_loss:new:0", "buy 3@99/0")
	s.part(0, d("1"))
	s.expect("entry:filled:3 stop_loss:open:0", "sell 3@0/94.05")
	if len(s.sent) != 2 {
		t.Errorf("%d orders", len(s.sent))
	}
	s = newHarness(t)
	s.decide(in)
	s.part(0, d("1"))
	s.wait(arrival)
	s.expect("entry:partially_filled:1 stop_loss:open:0", "buy 3@99/0, sell 1@0/94.05")
}

// TestTradesBehindTheAnswer: the answer says that the entry is filled, its trades come one by one.
func TestTradesBehindTheAnswer(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{
		Type: market.Limit, LimitPrice: 99, Size: quantity(3), StopLoss: &market.Child{Percent: 0.05},
	})
	o := s.open[0]
	o.Status, o.CumQuantity, o.AveragePrice = exchange.OrderFilled, d("3"), d("99")
	s.apply(order.Event{Kind: order.OrderSeen, Source: order.FromStream, ClientOrderID: o.ClientOrderID,
		Order: o})
	s.part(0, d("1"))
	s.part(0, d("1"))
	if len(s.sent) != 1 {
		t.Fatalf("exits of a part: %+v", s.sent[1:])
	}
	s.part(0, d("1"))
	s.expect("entry:filled:3 stop_loss:open:0", "sell 3@0/94.05")
	if len(s.sent) != 2 {
		t.Errorf("%d orders", len(s.sent))
	}
}

// TestBarrierEndsRenewals: exits that are being taken back, and what fills afterwards, get no new orders.
func TestBarrierEndsRenewals(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(3),
		StopLoss: &market.Child{Percent: 0.05}})
	s.part(0, d("1"))
	s.wait(arrival)
	s.hold = true
	s.part(0, d("1"))
	s.wait(2 * time.Second) // the exit is being taken back
	s.run(s.manager.Barrier(s.at), nil)
	s.part(0, d("0.5"))
	s.hold = false
	s.release()
	s.run(s.manager.CancelAll(s.at), nil)
	s.wait(5 * time.Second)
	s.expect("entry:canceled:2.5:end_of_data stop_loss:canceled:0:canceled", "")

	s = newHarness(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(3),
		StopLoss: &market.Child{Percent: 0.05}})
	s.slow = true
	s.part(0, d("1"))
	s.wait(arrival)
	id := s.manager.workingOrders()[1].currentID()
	s.apply(order.Event{Kind: order.SubmitReply, ClientOrderID: id,
		Result: exchange.Result{Outcome: exchange.NotSent}})
	s.run(s.manager.Barrier(s.at), nil)
	s.run(s.manager.CancelAll(s.at), nil)
	s.expect("entry:canceled:1:end_of_data stop_loss:rejected:0:EXPIRED_BEFORE_SEND", "")
}

// TestLaterFillsMeetAnEndingExit: an exit that is about to end does not take later fills with it.
func TestLaterFillsMeetAnEndingExit(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(3),
		StopLoss: &market.Child{Percent: 0.05}})
	s.part(0, d("1"))
	s.hold = true
	s.decide(market.Intent{Action: market.Cancel, Ref: "o-000002"})
	s.part(0, d("2"))
	s.hold = false
	s.release()
	s.wait(5 * time.Second)
	s.expect("entry:filled:3 stop_loss:canceled:0:strategy stop_loss:open:0", "sell 2@0/94.05")
}

// TestExitForLessThanIsHeld: the rest was promised to another order, which is gone.
func TestExitForLessThanIsHeld(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Percent: 0.05}})
	s.decide(market.Intent{Side: market.Sell, Type: market.Limit, LimitPrice: 108, Size: quantity(1),
		ClientRef: "target"})
	s.wait(2 * time.Second)
	s.part(1, d("2"))
	s.decide(market.Intent{Action: market.Cancel, Ref: "target"})
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:partially_filled:2 exit:canceled:0:strategy", "sell 1@0/95")
	s.price("95")
	s.expect("entry:filled:3 stop_loss:filled:3 exit:canceled:0:strategy", "")
}

// TestNoCloseYet: without a price nothing is beyond a level.
func TestNoCloseYet(t *testing.T) {
	s := newHarness(t)
	s.manager.sym[0].last = dec{}
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(3),
		StopLoss: &market.Child{Percent: 0.05}})
	s.part(0, d("3"))
	s.expect("entry:filled:3 stop_loss:open:0", "sell 3@0/94.05")
}

// TestOneExitIsBetterThanNone: the market does not take a target that far.
func TestOneExitIsBetterThanNone(t *testing.T) {
	s := newHarness(t)
	m := s.manager.sym[0].rules.Market
	m.PercentPriceUp = d("5")
	s.manager.SetMarket(m)
	s.decide(market.Intent{Size: quantity(3), StopLoss: &market.Child{Percent: 0.05},
		TakeProfit: &market.Child{Percent: 9}})
	s.wait(10 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 take_profit:new:0", "sell 3@0/95")
	if !slices.Contains(s.alarms, CodeNotPlaced) || len(s.sent) != 2 {
		t.Errorf("alarms %q, %d orders", s.alarms, len(s.sent))
	}
	m.PercentPriceUp = d("20")
	s.manager.SetMarket(m)
	s.wait(2 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 take_profit:open:0", "sell 3@1000/0, sell 3@0/95")
}

// TestHaltedMarket: exits at the venue are left where they are, and others wait until it trades.
func TestHaltedMarket(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(3),
		StopLoss: &market.Child{Percent: 0.05}})
	s.part(0, d("1"))
	s.wait(arrival)
	m := s.manager.sym[0].rules.Market
	m.Trading = false
	s.manager.SetMarket(m)
	s.part(0, d("2"))
	s.wait(10 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0", "sell 1@0/94.05")
	m.Trading = true
	s.manager.SetMarket(m)
	s.wait(0)
	s.expect("entry:filled:3 stop_loss:open:0", "sell 3@0/94.05")
}

// TestReplaceOfWhatWasNotSent: the venue was busy; the order is changed all the same, or taken back.
func TestReplaceOfWhatWasNotSent(t *testing.T) {
	s := newHarness(t)
	busy := func(what string, n int) int {
		if what == "luck" {
			return 7 // NOT_SENT
		}
		return min(n-1, map[string]int{"work": 11, "drop": 1}[what])
	}
	s.wild = busy
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(3), ClientRef: "a"})
	s.wild = nil
	s.work(99)
	if r := s.decide(market.Intent{Action: market.Replace, Ref: "a", LimitPrice: 98}); r[0] != "" {
		t.Fatal(r)
	}
	s.expect("entry:open:0", "buy 3@98/0")
	s.hold = true
	s.decide(market.Intent{Action: market.Replace, Ref: "a", LimitPrice: 97})
	s.decide(market.Intent{Action: market.Replace, Ref: "a", Size: quantity(2)})
	if r := s.decide(market.Intent{Action: market.Replace, Ref: "a",
		Size: quantity(0.00001)}); r[0] != "BELOW_MINIMUM" {
		t.Error(r)
	}
	s.hold = false
	s.release()
	s.expect("entry:open:0", "buy 2@97/0")
	s.hold = true
	s.decide(market.Intent{Action: market.Cancel, Ref: "a"})
	if r := s.decide(market.Intent{Action: market.Replace, Ref: "a",
		LimitPrice: 96}); r[0] != "unknown_order" {
		t.Error(r)
	}
	s.hold = false
	s.release()
	s.expect("entry:canceled:0:strategy", "")
}
