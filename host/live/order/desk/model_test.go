package desk

import (
	"os"
	"testing"
	"time"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/live/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// part fills so much of a resting order; the other leg of a pair ends with the first trade.
func (s *shop) part(i int, q dec) {
	o := s.open[i]
	left := order.Minus(o.Quantity, o.CumQuantity)
	q = q.Min(left)
	o.CumQuantity = order.Plus(o.CumQuantity, q)
	if o.CumQuantity.Cmp(o.Quantity) == 0 {
		s.open = append(s.open[:i:i], s.open[i+1:]...)
	} else {
		s.open[i] = o
	}
	if other := s.pairs[o.ClientOrderID]; other != "" {
		s.end(other, exchange.OrderCanceled)
	}
	price := o.LimitPrice
	if !price.IsPos() {
		price = o.StopPrice
	}
	s.fill(o, q, price)
}

// offered is what the venue may sell of ours: one leg of a pair cancels the other.
func (s *shop) offered() dec {
	sum := dec{}
	for _, o := range s.open {
		if o.Side == market.Sell && (s.pairs[o.ClientOrderID] == "" || o.LimitPrice.IsPos() || !s.has(s.pairs[o.ClientOrderID])) {
			sum = order.Plus(sum, order.Minus(o.Quantity, o.CumQuantity))
		}
	}
	return sum
}

// TestNeverSellsMoreThanItHolds decides, fills, cancels and replaces at random: what is offered for sale is
// never more than what is held, and the books balance. In soak: in the end what brackets hold is protected.
func TestNeverSellsMoreThanItHolds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newShop(t)
		s.fee = func(side market.Side, q, p dec) (dec, string) {
			if side == market.Buy && s.trades%2 == 0 {
				return order.Times(q, d("0.001")), "BTC"
			}
			return order.Times(order.Times(q, p), d("0.001")), "USDT"
		}
		refs := []string{"a", "b"}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			ref := rapid.SampledFrom(refs).Draw(rt, "ref")
			size := quantity(float64(rapid.IntRange(1, 300).Draw(rt, "hundredths")) / 100)
			switch rapid.SampledFrom([]string{"enter", "enter", "limit", "exit", "close", "trail", "cancel", "all", "replace", "fill", "fill", "fill", "time", "time", "candle", "hold", "release"}).Draw(rt, "what") {
			case "enter":
				s.decide(market.Intent{Size: size, StopLoss: &market.Child{Percent: 0.05}, TakeProfit: &market.Child{Percent: 0.1}})
			case "limit":
				s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: size, ClientRef: ref, StopLoss: &market.Child{TrailPercent: 0.05}})
			case "exit":
				s.decide(market.Intent{Side: market.Sell, Size: size})
			case "close":
				s.decide(market.Intent{Action: market.Close})
			case "trail":
				s.decide(market.Intent{Side: market.Sell, Type: market.TrailingStop, ReduceOnly: true, TrailPercent: 0.05, Size: size, ClientRef: ref})
			case "cancel":
				s.decide(market.Intent{Action: market.Cancel, Ref: ref})
			case "all":
				s.decide(market.Intent{Action: market.Cancel})
			case "replace":
				s.decide(market.Intent{Action: market.Replace, Ref: ref, Size: size})
			case "fill":
				if n := len(s.open); n > 0 {
					s.part(rapid.IntRange(0, n-1).Draw(rt, "which"), decimal.MustNew(int64(rapid.IntRange(1, 200).Draw(rt, "part")), 2))
				}
			case "time":
				s.wait(time.Duration(rapid.IntRange(1, 3000).Draw(rt, "ms")) * time.Millisecond)
			case "candle":
				p := float64(rapid.IntRange(97, 104).Draw(rt, "price"))
				s.candle(p+1, p-1, p)
			case "hold":
				s.hold = true
			case "release":
				s.hold = false
				s.release()
			}
			s.within(rt)
		}
		s.hold = false
		s.release()
		for range 10 {
			s.wait(3 * time.Second)
			s.release()
			s.within(rt)
		}
		if os.Getenv("ASSAY_SOAK") != "" {
			s.protected(rt)
		}
	})
}

func (s *shop) within(rt *rapid.T) {
	if held := s.desk.Ledger().Quantity(btc); s.offered().Cmp(held) > 0 {
		rt.Fatalf("%s is offered for sale and %s held: %s", s.offered(), held, s.stands())
	}
	if s.t.Failed() {
		rt.FailNow()
	}
}

// protected checks that exits which the strategy sees as open stand at the venue.
func (s *shop) protected(rt *rapid.T) {
	if len(s.alarms) > 0 {
		return // the market takes no exit that small
	}
	for _, p := range s.desk.working() {
		if p.waiting && !(p.group != nil && p.group.lame) && s.desk.available(0).Cmp(d("0.1")) > 0 {
			rt.Fatalf("%s %s waits with %s free; at the venue: %s", p.Role, p.ID, s.desk.available(0), s.stands())
		}
		if !p.waiting && !s.has(p.live()) {
			rt.Fatalf("%s %s is %s and not at the venue", p.Role, p.ID, p.Status)
		}
	}
}
