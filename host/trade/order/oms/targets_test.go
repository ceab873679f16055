package oms

import (
	"testing"
	"time"

	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// parted is an entry of 4 at 99 that a quarter leaves at 105 and the rest, or a part of it, at 110.
func parted(far float64) market.Intent {
	return market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(4), ClientRef: "a",
		StopLoss: &market.Child{Price: 90}, Targets: []market.TakeProfit{
			{Level: market.Child{Price: 105}, Share: 0.25}, {Level: market.Child{Price: 110}, Share: far}}}
}

// TestTargetsAreAPairEach: each target stands with a stop for the same quantity, and the stops that are left
// cover what is held.
func TestTargetsAreAPairEach(t *testing.T) {
	s := newHarness(t)
	s.decide(parted(0.75))
	s.part(0, d("4"))
	s.wait(2 * time.Second)
	s.expect("entry:filled:4 stop_loss:open:0 take_profit:open:0 stop_loss:open:0 take_profit:open:0",
		"sell 1@105/0, sell 1@0/90, sell 3@110/0, sell 3@0/90")
	s.price("105")
	s.expect("entry:filled:4 stop_loss:canceled:0:oco take_profit:filled:1 stop_loss:open:0 "+
		"take_profit:open:0", "sell 3@110/0, sell 3@0/90")
	s.price("90")
	s.expect("entry:filled:4 stop_loss:canceled:0:oco take_profit:filled:1 stop_loss:filled:3 "+
		"take_profit:canceled:0:oco", "")
	if !s.manager.Ledger().Flat(btc) {
		t.Error("not flat")
	}
}

// TestTargetsBelow1LeaveAStop for what no target sells.
func TestTargetsBelow1LeaveAStop(t *testing.T) {
	s := newHarness(t)
	s.decide(parted(0.5))
	s.part(0, d("4"))
	s.wait(2 * time.Second)
	s.price("110")
	if got := s.stands(); got != "sell 1@0/90" {
		t.Errorf("at the venue %q", got)
	}
}

// TestTargetsOfAnEntryInParts: the parts of what came so far, in one bracket until each is large enough for
// the venue.
func TestTargetsOfAnEntryInParts(t *testing.T) {
	s := newHarness(t)
	s.decide(parted(0.75))
	s.part(0, d("0.1"))
	s.wait(3 * time.Second)
	if got := s.stands(); got != "buy 4@99/0, sell 0.1@110/0, sell 0.1@0/90" {
		t.Errorf("at the venue %q", got)
	}
	s.part(0, d("0.9"))
	s.wait(20 * time.Second)
	if got := s.stands(); got != "buy 4@99/0, sell 0.25@105/0, sell 0.25@0/90, sell 0.75@110/0, "+
		"sell 0.75@0/90" {
		t.Errorf("at the venue %q", got)
	}
	s.price("105")
	s.part(0, d("3"))
	s.wait(20 * time.Second)
	if got := s.stands(); got != "sell 0.75@105/0, sell 0.75@0/90, sell 3@110/0, sell 3@0/90" {
		t.Errorf("at the venue %q", got)
	}
	if gaps := s.manager.Gaps(s.at); len(gaps) > 0 {
		t.Errorf("%v", gaps)
	}
}

// TestBadShares are rejected as in a backtest, and slots count a stop for each target.
func TestBadShares(t *testing.T) {
	s := newHarness(t)
	both := parted(0.5)
	both.TakeProfit = &market.Child{Price: 110}
	s.decide(parted(0.76), both)
	s.expect("entry:rejected:0:invalid_bracket entry:rejected:0:invalid_bracket", "")
	s = newHarness(t)
	s.manager.sym[0].rules.MaxStops = 2
	s.decide(parted(0.5), parted(0.75))
	s.expect("entry:rejected:0:"+CodeNoExitSlot+" entry:open:0", "buy 4@99/0")
}

// either is an OCO of a buy below the market and one above it.
func either() []market.Intent {
	return []market.Intent{
		{Type: market.Limit, LimitPrice: 95, Size: quantity(2), ClientRef: "low", OCO: 1},
		{Type: market.Stop, StopPrice: 105, Size: quantity(2), ClientRef: "high", OCO: 2}}
}

// TestTheFirstFillCancelsTheOthers, also where it is a part, as soon as it is reported.
func TestTheFirstFillCancelsTheOthers(t *testing.T) {
	s := newHarness(t)
	s.decide(either()...)
	s.expect("entry:open:0 entry:open:0", "buy 2@95/0, buy 2@0/105")
	s.part(0, d("0.5"))
	s.expect("entry:partially_filled:0.5 entry:canceled:0:oco", "buy 2@95/0")
}

// TestBothMayFill: what the venue fills before it hears of the cancel stays.
func TestBothMayFill(t *testing.T) {
	s := newHarness(t)
	s.hold = true
	s.decide(either()...)
	s.part(0, d("2"))
	s.part(0, d("2"))
	s.hold = false
	s.release()
	s.expect("entry:filled:2 entry:filled:2", "")
}

// TestAnEndLeavesTheOthers: a cancel, and a refusal of the venue.
func TestAnEndLeavesTheOthers(t *testing.T) {
	s := newHarness(t)
	s.decide(either()...)
	s.decide(market.Intent{Action: market.Cancel, Ref: "low"})
	s.expect("entry:canceled:0:strategy entry:open:0", "buy 2@0/105")
	s.price("105")
	s.expect("entry:canceled:0:strategy entry:filled:2", "")
}

// TestAllOrNone: one that cannot be, and sales for more than is held, refuse the whole OCO.
func TestAllOrNone(t *testing.T) {
	s := newHarness(t)
	bad := either()
	bad[1].StopPrice = 0
	s.decide(bad...)
	s.expect("entry:rejected:0:oco entry:rejected:0:invalid_price", "")
	s = newHarness(t)
	s.decide(market.Intent{Size: quantity(2)})
	exits := []market.Intent{
		{Side: market.Sell, Type: market.Limit, LimitPrice: 110, OCO: 1, Size: quantity(1)},
		{Side: market.Sell, Type: market.Stop, StopPrice: 90, OCO: 2, Size: quantity(1.5)}}
	s.decide(exits...)
	s.expect("entry:filled:2 exit:rejected:0:"+order.CodeTypeUnsupported+" exit:rejected:0:oco", "")
	exits[1].Size = quantity(1)
	s.decide(exits...)
	if got := s.stands(); got != "sell 1@110/0, sell 1@0/90" {
		t.Errorf("at the venue %q", got)
	}
	_, _, err := s.manager.Intents(exits[1:], false, s.at)
	if err == nil {
		t.Error("a member without the first is taken")
	}
}
