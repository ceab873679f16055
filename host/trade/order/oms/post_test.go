package oms

import (
	"testing"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestPostOnly: the request says so, after a replace too, and what the venue refuses because it would take
// has the code of a backtest. It is in what is written down, so an order that is sent anew after a crash
// cannot take either.
func TestPostOnly(t *testing.T) {
	s := newHarness(t)
	in := market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(2), ClientRef: "a", PostOnly: true}
	s.decide(in)
	s.expect("entry:rejected:0:ORDER_TYPE_UNSUPPORTED", "")
	s = newHarness(t)
	s.manager.cfg.OrderTypes = append(s.manager.cfg.OrderTypes, "post_only")
	s.decide(in)
	s.decide(market.Intent{Action: market.Replace, Ref: "a", LimitPrice: 98})
	s.expect("entry:open:0", "buy 2@98/0")
	for _, spec := range s.sent {
		if !spec.PostOnly || !spec.Request().PostOnly {
			t.Errorf("sent %+v", spec)
		}
	}
	r := s.decide(market.Intent{Action: market.Replace, Ref: "a", PostOnly: true})
	if r[0] != "invalid_type" {
		t.Errorf("replaced by post-only: %v", r)
	}
	s.decide(market.Intent{Size: quantity(1), PostOnly: true},
		market.Intent{Type: market.Limit, LimitPrice: 99, Size: quantity(1), PostOnly: true,
			TimeInForce: market.IOC})
	s.expect("entry:open:0 entry:rejected:0:invalid_type entry:rejected:0:invalid_type", "buy 2@98/0")
}

// TestAPostOnlyOrderThatWouldTake is rejected at once, or when the market has seen it.
func TestAPostOnlyOrderThatWouldTake(t *testing.T) {
	s := newHarness(t)
	s.manager.cfg.OrderTypes = append(s.manager.cfg.OrderTypes, "post_only")
	s.slow = true
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 101, Size: quantity(2), PostOnly: true})
	id := s.sent[0].ClientOrderID
	s.apply(order.Event{Kind: order.SubmitReply, Source: order.FromReply, ClientOrderID: id,
		Result: exchange.Result{Outcome: exchange.Rejected, VenueCode: "would_take",
			Message: "Order would immediately match and take."}})
	s.expect("entry:rejected:0:would_take", "")
	s = newHarness(t)
	s.manager.cfg.OrderTypes = append(s.manager.cfg.OrderTypes, "post_only")
	s.decide(market.Intent{Type: market.Limit, LimitPrice: 101, Size: quantity(2), PostOnly: true})
	o := s.open[0]
	o.Reason = "would_take"
	s.put(o)
	s.end(o.ClientOrderID, exchange.OrderExpired)
	s.expect("entry:rejected:0:would_take", "")
	updates, _, _ := s.manager.Drain()
	if n := len(updates); n == 0 || updates[n-1].Reason != market.ReasonWouldTake {
		t.Errorf("the strategy is told %+v", updates)
	}
}
