package oms

import (
	"math"
	"testing"
	"time"

	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func moveStop(price float64) market.Intent {
	return market.Intent{Action: market.SetLeg, StopLoss: &market.Child{Price: price}}
}

func moveTarget(price float64) market.Intent {
	return market.Intent{Action: market.SetLeg, TakeProfit: &market.Child{Price: price}}
}

// TestMovedLegs: the orders at the venue follow, on its ticks, and nothing else of the pair changes.
func TestMovedLegs(t *testing.T) {
	s := guarded(t, below, above)
	s.expect("entry:filled:3 stop_loss:open:0 take_profit:open:0", "sell 3@110/0, sell 3@0/95")
	if r := s.decide(moveStop(97.004)); r[0] != "" {
		t.Fatal(r)
	}
	s.wait(3 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 take_profit:open:0", "sell 3@110/0, sell 3@0/97.01")
	sent := len(s.sent)
	if r := s.decide(moveStop(97.004), moveTarget(110)); r[0]+r[1] != "" {
		t.Fatal(r)
	}
	s.wait(3 * time.Second)
	if len(s.sent) != sent {
		t.Error("legs that stand at their price were sent again")
	}
	both := moveStop(98)
	both.TakeProfit = &market.Child{Price: 104}
	s.decide(both)
	s.wait(3 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 take_profit:open:0", "sell 3@104/0, sell 3@0/98")
	s.price("98")
	s.wait(3 * time.Second)
	s.expect("entry:filled:3 stop_loss:filled:3 take_profit:canceled:0:oco", "")
}

// TestRefusedMoves: what a move cannot do has a code, and the exits at the venue stand as they did.
func TestRefusedMoves(t *testing.T) {
	s := newHarness(t)
	if r := s.decide(moveStop(95)); r[0] != "no_position" {
		t.Error(r)
	}
	s = guarded(t, below, nil)
	sent := len(s.sent)
	both := moveStop(96)
	both.TakeProfit = &market.Child{Price: 110}
	for want, in := range map[string]market.Intent{
		"no_leg": both, "would_fill": moveStop(100), "invalid_price": moveStop(-1),
		"invalid_bracket": {Action: market.SetLeg, StopLoss: &market.Child{Percent: 0.02}},
	} {
		if r := s.decide(in); r[0] != want {
			t.Errorf("%q, want %q", r[0], want)
		}
	}
	m := s.manager.sym[0].rules.Market
	m.PercentPriceDown = d("0.9")
	s.manager.SetMarket(m)
	if r := s.decide(moveStop(80)); r[0] != order.CodePriceTooFar {
		t.Errorf("a price that the venue does not take: %q", r[0])
	}
	s.wait(3 * time.Second)
	if len(s.sent) != sent {
		t.Errorf("%d orders more", len(s.sent)-sent)
	}
	s.expect("entry:filled:3 stop_loss:open:0", "sell 3@0/95")
	if _, _, err := s.manager.Intents([]market.Intent{moveStop(math.NaN())}, false, s.at); err == nil {
		t.Error("a price that is no number was taken")
	}

	s = guarded(t, &market.Child{TrailPercent: 0.05}, nil)
	if r := s.decide(moveStop(96)); r[0] != "invalid_type" {
		t.Error(r)
	}
}

// TestMoveWhileShut: while no order may leave, the exits stand where they are, and move as soon as one may.
func TestMoveWhileShut(t *testing.T) {
	s := guarded(t, below, above)
	s.deny, s.shut = "STATE_HALTED", true
	s.decide(moveStop(97))
	s.wait(2 * time.Second)
	if got := s.stands(); got != "sell 3@110/0, sell 3@0/95" {
		t.Errorf("at the venue: %s", got)
	}
	s.deny, s.shut = "", false
	s.wait(3 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 take_profit:open:0", "sell 3@110/0, sell 3@0/97")
}

// TestMoveOnTheWay: a leg whose order is on its way to the venue is moved once it is there.
func TestMoveOnTheWay(t *testing.T) {
	s, p := proposedExits(t)
	r, _, err := s.manager.Intents([]market.Intent{moveStop(96)}, false, s.at)
	s.run(r, err)
	s.run(s.manager.Commit(p, s.at))
	s.wait(5 * time.Second)
	s.expect("entry:filled:3 stop_loss:open:0 take_profit:open:0", "sell 3@108.9/0, sell 3@0/96")
}
