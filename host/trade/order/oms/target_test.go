package oms

import (
	"testing"
	"time"

	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func target(f float64) market.Intent {
	return market.Intent{Size: market.Size{Kind: market.SizeTargetFraction, Value: f}}
}

func targetAt(f, limit float64) market.Intent {
	in := target(f)
	in.Type, in.LimitPrice = market.Limit, limit
	return in
}

// TestTargets: what is sent is what the position lacks of a share of the equity at the close of the decision,
// on the steps of the market, and the whole position for zero.
func TestTargets(t *testing.T) {
	s := newHarness(t)
	s.decide(target(0.5))
	s.expect("entry:filled:50", "")
	s.decide(target(0.8)) // of 9,995
	s.expect("entry:filled:50 entry:filled:29.96", "")
	s.decide(target(0.8)) // of 9,992: worth 2.4 less, which the market does not take
	s.candle(125, 100, 125)
	s.decide(target(0.5)) // of 11,991.006, at 125
	s.expect("entry:filled:50 entry:filled:29.96 exit:filled:31.996", "")
	if q := s.sent[2]; q.Quantity.String() != "31.996" || q.Side != market.Sell {
		t.Errorf("sent %+v", q)
	}
	s.decide(target(0))
	s.expect("entry:filled:50 entry:filled:29.96 exit:filled:31.996 exit:filled:47.964", "")
	if refused := s.decide(target(0)); refused[0] != "" {
		t.Errorf("nothing to do: %v", refused)
	}
	if refused := s.decide(target(0.0004)); refused[0] != order.CodeBelowMinimum {
		t.Errorf("worth 4: %v", refused)
	}
	s.decide(target(-0.5), target(1.5))
	s.expect("entry:filled:50 entry:filled:29.96 exit:filled:31.996 exit:filled:47.964 "+
		"exit:rejected:0:short_not_allowed entry:rejected:0:invalid_size", "")
}

// TestANewTargetReplacesTheOldOne: the cancel of the old one is confirmed before the new one leaves, and
// what has filled until then is taken off.
func TestANewTargetReplacesTheOldOne(t *testing.T) {
	s := newHarness(t)
	s.decide(targetAt(0.5, 99))
	s.expect("entry:open:0", "buy 50.505@99/0")
	s.hold = true
	s.decide(targetAt(0.4, 98)) // 40.8163
	s.expect("entry:open:0 entry:new:0", "buy 50.505@99/0")
	s.part(0, d("10"))
	s.hold = false
	s.release()
	s.wait(2 * time.Second)
	s.expect("entry:canceled:10:strategy entry:open:0", "buy 30.8163@98/0")
	s.decide(target(0)) // and takes the buy back
	s.wait(2 * time.Second)
	s.expect("entry:canceled:10:strategy entry:canceled:0:strategy exit:filled:10", "")
}

// TestATargetThatIsReachedTakesBackTheOldOne, and one that has filled meanwhile asks for nothing.
func TestATargetThatIsReachedTakesBackTheOldOne(t *testing.T) {
	s := newHarness(t)
	s.decide(targetAt(0.5, 99))
	s.decide(target(0))
	s.wait(2 * time.Second)
	s.expect("entry:canceled:0:strategy", "")
	s.decide(targetAt(0.5, 99))
	s.hold = true
	s.decide(targetAt(0.4, 99))
	s.part(0, d("50.505"))
	s.hold = false
	s.release()
	s.wait(2 * time.Second)
	s.expect("entry:canceled:0:strategy entry:filled:50.505 entry:canceled:0:quantity_below_step", "")
}

// TestPurchasesOfTargetsWaitForTheSales of their step, whose proceeds they spend.
func TestPurchasesOfTargetsWaitForTheSales(t *testing.T) {
	const eth = market.Symbol("ETH/USDT")
	s := newHarnessOf(t, btc, eth)
	now := market.FromTime(s.at)
	s.run(s.manager.Candle(eth, market.Candle{OpenTime: now - 60_000, CloseTime: now, Open: 100, High: 100,
		Low: 100, Close: 100}, s.at), nil)
	s.decide(target(0.9))
	s.expect("entry:filled:90", "")
	other := target(0.9)
	other.Symbol = eth
	s.slow = true
	s.decide(other, target(0))
	if n := len(s.sent); n != 2 || s.sent[1].Side != market.Sell {
		t.Fatalf("sent %+v", s.sent)
	}
	s.slow = false
	for _, arrive := range s.onWay {
		arrive()
	}
	s.wait(2 * time.Second)
	s.expect("entry:filled:90 entry:filled:89.919 exit:filled:90", "") // of 9,991
}
