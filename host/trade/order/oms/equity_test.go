package oms

import (
	"testing"
	"time"

	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func ofEquity(f float64) market.Size {
	return market.Size{Kind: market.SizeEquityFraction, Value: f}
}

func ofRisk(f float64) market.Size { return market.Size{Kind: market.SizeRiskFraction, Value: f} }

// TestSharesOfTheEquity: the quantity is that of the close of the decision, on the steps of the market,
// whatever equity and price are later, and goes into what is written down before it is sent: a crash at any
// moment leaves no order, or one of that quantity.
func TestSharesOfTheEquity(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: ofEquity(0.5), Tag: "in"})
	if q := s.sent[0]; q.Quantity.String() != "50" || !q.QuoteAmount.IsZero() {
		t.Errorf("sent %+v", q)
	}
	s.expect("entry:filled:50", "") // and 5 of fees: 9995 are left
	s.decide(market.Intent{Size: ofEquity(0.1), Type: market.Limit, LimitPrice: 99, ClientRef: "a"})
	s.expect("entry:filled:50 entry:open:0", "buy 10.0959@99/0")
	s.candle(120, 118, 120)
	s.decide(market.Intent{Action: market.Replace, Ref: "a", LimitPrice: 98})
	s.expect("entry:filled:50 entry:open:0", "buy 10.0959@98/0")
	r := s.decide(market.Intent{Action: market.Replace, Ref: "a", Size: ofEquity(0.2)})
	if r[0] != "invalid_size" {
		t.Errorf("replaced by a share: %v", r)
	}
	s.decide(market.Intent{Side: market.Sell, Size: ofEquity(0.2)}) // 10,995 x 0.2 / 120
	s.expect("entry:filled:50 entry:open:0 exit:filled:18.325", "buy 10.0959@98/0")
	s.decide(market.Intent{Side: market.Sell, Size: ofEquity(0.9)})
	s.expect("entry:filled:50 entry:open:0 exit:filled:18.325 exit:rejected:0:short_not_allowed",
		"buy 10.0959@98/0")
}

// TestASmallShareIsNoOrder: what the market does not take leaves no order, only a count.
func TestASmallShareIsNoOrder(t *testing.T) {
	s := newHarness(t)
	for _, in := range []market.Intent{
		{Size: ofEquity(0.0004)}, // worth 4
		{Size: ofEquity(1e-9)},   // less than a step
		{Size: ofRisk(0.0001), StopLoss: &market.Child{Price: 50}},      // 0.02 at 100
		{Size: ofEquity(0.0004), Type: market.Limit, LimitPrice: 90},    // worth 4
		{Size: ofRisk(0.000001), StopLoss: &market.Child{Percent: 0.9}}, // 0.0001 at 100
	} {
		if r := s.decide(in); r[0] != order.CodeBelowMinimum {
			t.Errorf("%+v: %v", in, r)
		}
	}
	s.expect("", "")
}

// TestAShareIsCutToTheCash: an order that the cash does not pay for is cut, never refused: at the market
// it is for all of the cash, whatever the price has become when it arrives.
func TestAShareIsCutToTheCash(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: ofEquity(1)})
	if got := s.sent[0].QuoteAmount.String(); got != "9990.00999" || !s.sent[0].Quantity.IsZero() {
		t.Errorf("sent %+v", s.sent[0])
	}
	s.decide(market.Intent{Size: ofEquity(0.5)}) // nothing is left
	s.expect("entry:filled:99.9 entry:canceled:0:BELOW_MINIMUM", "")
	if o := s.manager.Orders()[0]; !o.Clamped || o.Quantity.Cmp(o.FilledQuantity) != 0 {
		t.Errorf("%+v", o)
	}
	updates, _, _ := s.manager.Drain()
	if o := updates[len(updates)-1]; !o.Clamped || o.Status != market.StatusCanceled {
		t.Errorf("the strategy is told %+v", o)
	}
}

// TestACutShareFillsInParts: its exits are for what has filled, and it ends at what it was cut to.
func TestACutShareFillsInParts(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: ofEquity(1), Type: market.Limit, LimitPrice: 100,
		StopLoss: &market.Child{Percent: 0.05}})
	s.expect("entry:open:0", "buy 99.9@100/0")
	s.part(0, d("30"))
	s.wait(2 * time.Second)
	s.expect("entry:partially_filled:30 stop_loss:open:0", "buy 99.9@100/0, sell 30@0/95")
	s.part(0, d("69.9"))
	s.wait(2 * time.Second)
	s.expect("entry:filled:99.9 stop_loss:open:0", "sell 99.9@0/95")
	if o := s.manager.Orders()[0]; !o.Clamped || o.Quantity.String() != "99.9" {
		t.Errorf("%+v", o)
	}
}

// TestACutShareIsWholeAgain: a replaced order asks for what it asked for at its decision, as in a backtest.
func TestACutShareIsWholeAgain(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: market.Size{Kind: market.SizeQuantity, Value: 50}, Type: market.Limit,
		LimitPrice: 100, ClientRef: "a"})
	s.decide(market.Intent{Size: ofEquity(0.8), Type: market.Limit, LimitPrice: 100, ClientRef: "b"})
	s.expect("entry:open:0 entry:open:0", "buy 50@100/0, buy 49.95@100/0")
	s.decide(market.Intent{Action: market.Cancel, Ref: "a"})
	s.decide(market.Intent{Action: market.Replace, Ref: "b", LimitPrice: 99})
	s.expect("entry:canceled:0:strategy entry:open:0", "buy 80@99/0")
	if o := s.manager.Orders()[1]; o.Clamped || o.Quantity.Cmp(d("80")) != 0 {
		t.Errorf("%+v", o)
	}
}

func TestRiskFractions(t *testing.T) {
	s := newHarness(t)
	s.decide(market.Intent{Size: ofRisk(0.01), StopLoss: &market.Child{Price: 95}})
	s.wait(2 * time.Second)
	s.expect("entry:filled:20 stop_loss:open:0", "sell 20@0/95")
	s = newHarness(t)
	for _, in := range []market.Intent{
		{Size: ofRisk(0.01)},
		{Size: ofRisk(0.01), StopLoss: &market.Child{Price: 101}},
		{Size: ofRisk(0.01), Type: market.Limit, LimitPrice: 90, StopLoss: &market.Child{Price: 95}},
	} {
		s.decide(in)
	}
	s.decide(market.Intent{Size: ofEquity(1.5)})
	s.expect("entry:rejected:0:invalid_bracket entry:rejected:0:invalid_bracket "+
		"entry:rejected:0:invalid_bracket entry:rejected:0:invalid_size", "")
}

// TestAShareThatTheLimitsRefuse is told like any other order.
func TestAShareThatTheLimitsRefuse(t *testing.T) {
	s := newHarness(t)
	s.deny = "MAX_ORDER_NOTIONAL"
	s.decide(market.Intent{Size: ofEquity(0.5)})
	s.expect("entry:rejected:0:MAX_ORDER_NOTIONAL", "")
}
