package oms

import (
	"slices"
	"testing"
	"time"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// moves are what happens in a random history.
var moves = []string{
	"enter", "enter", "share", "goal", "goal", "limit", "exit", "target", "close", "trail", "cancel",
	"all", "replace", "move", "fill", "fill", "fill", "time", "time",
	"parts", "oco",
	"candle", "hold", "release", "deny", "shut", "allow", "reconcile", "balance", "chatty", "quiet", "read",
	"late", "cancelled there", "refuse",
}

// move does one of them.
func (s *harness) move(rt *rapid.T, what string) {
	ref := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "ref")
	size := quantity(float64(rapid.IntRange(1, 300).Draw(rt, "hundredths")) / 100)
	switch what {
	case "enter":
		s.decide(market.Intent{Size: size, StopLoss: &market.Child{Percent: 0.05},
			TakeProfit: &market.Child{Percent: 0.1}})
	case "parts":
		share := float64(rapid.IntRange(1, 99).Draw(rt, "share")) / 100
		s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: size, ClientRef: ref,
			StopLoss: &market.Child{Percent: 0.05}, Targets: []market.TakeProfit{
				{Level: market.Child{Price: 106}, Share: share},
				{Level: market.Child{Percent: 0.1}, Share: (1 - share) * float64(rapid.IntRange(1, 2).Draw(rt,
					"halves")) / 2}}})
	case "oco":
		s.decide(market.Intent{Type: market.Limit, LimitPrice: 98, Size: size, ClientRef: ref, OCO: 1},
			market.Intent{Type: market.Stop, StopPrice: 103, Size: quantity(1), OCO: 2,
				StopLoss: &market.Child{Percent: 0.05}})
	case "share":
		s.decide(market.Intent{Size: ofEquity(float64(rapid.IntRange(1, 100).Draw(rt, "percent")) / 100),
			StopLoss: &market.Child{Percent: 0.05}})
	case "goal":
		in := target(float64(rapid.IntRange(0, 10).Draw(rt, "tenths")) / 10)
		if rapid.Bool().Draw(rt, "rests") {
			in = targetAt(in.Size.Value, 99)
		}
		in.StopLoss = &market.Child{Percent: 0.05}
		s.decide(in)
	case "limit":
		s.decide(market.Intent{Type: market.Limit, LimitPrice: 99, Size: size, ClientRef: ref,
			StopLoss: &market.Child{TrailPercent: 0.05}})
	case "exit":
		s.decide(market.Intent{Side: market.Sell, Size: size})
	case "target":
		s.decide(market.Intent{Side: market.Sell, Type: market.Limit, LimitPrice: 108, ReduceOnly: true,
			Size: size, ClientRef: ref})
	case "close":
		s.decide(market.Intent{Action: market.Close})
	case "trail":
		s.decide(market.Intent{Side: market.Sell, Type: market.TrailingStop, ReduceOnly: true,
			TrailPercent: 0.05, Size: size, ClientRef: ref})
	case "cancel":
		s.decide(market.Intent{Action: market.Cancel, Ref: ref})
	case "all":
		s.decide(market.Intent{Action: market.CancelAll})
	case "replace":
		s.decide(market.Intent{Action: market.Replace, Ref: ref, Size: size})
	case "move":
		in := market.Intent{Action: market.SetLeg}
		if stop := rapid.IntRange(92, 104).Draw(rt, "stop"); stop > 93 {
			in.StopLoss = &market.Child{Price: float64(stop)}
		}
		if target := rapid.IntRange(97, 112).Draw(rt, "target"); target > 103 {
			in.TakeProfit = &market.Child{Price: float64(target)}
		}
		s.decide(in)
	case "fill":
		if n := len(s.open); n > 0 {
			s.part(rapid.IntRange(0, n-1).Draw(rt, "which"),
				decimal.MustNew(int64(rapid.IntRange(1, 200).Draw(rt, "part")), 2))
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
		s.work(1 << 20)
	case "deny":
		s.deny = "STATE_HALTED"
	case "shut":
		s.deny, s.shut = "STATE_HALTED", true
	case "allow":
		s.deny, s.shut = "", false
	case "reconcile":
		s.reconcile()
	case "balance":
		s.balance()
	case "chatty", "quiet":
		s.chatty = what == "chatty"
	case "read":
		s.stale = append(s.stale, s.free())
	case "cancelled there":
		if n := len(s.open); n > 0 {
			status := rapid.SampledFrom([]exchange.OrderStatus{exchange.OrderCanceled,
				exchange.OrderExpired}).Draw(rt, "how")
			s.end(s.open[rapid.IntRange(0, n-1).Draw(rt, "which")].ClientOrderID, status)
		}
	case "refuse":
		s.refuse = rapid.IntRange(1, 3).Draw(rt, "times")
	case "late":
		for _, free := range s.stale {
			s.manager.SetFree("BTC", free)
		}
		s.stale = nil
	}
}

// history is a random run that comes to rest in the end: every call works, what was lost is asked for.
func history(rt *rapid.T, s *harness, bad bool) {
	s.fee = func(side market.Side, q, p dec) (dec, string) {
		if side == market.Buy && len(s.trades)%2 == 0 {
			return order.Times(q, d("0.001")), "BTC"
		}
		return order.Times(order.Times(q, p), d("0.001")), "USDT"
	}
	if bad {
		s.wild = func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(rt, what) }
	}
	for range rapid.IntRange(1, 40).Draw(rt, "steps") {
		s.move(rt, rapid.SampledFrom(moves).Draw(rt, "what"))
		s.sound(rt)
	}
	s.refuse = 0
	s.hold, s.deny, s.shut, s.wild, s.stale = false, "", false, nil, nil
	s.work(1 << 20)
	s.release()
	s.balance()
	for quiet, rounds := 0, 0; quiet < 2; quiet++ {
		if rounds++; rounds > 100 {
			rt.Fatalf("no rest: due at %s, now %s: %+v", s.manager.NextDue(), s.at, s.manager.Book().Pending())
		}
		s.wait(3 * time.Second)
		s.price(s.manager.sym[0].last.String()) // what the price has reached does not stand for ever
		s.reconcile()
		s.balance()
		if s.sound(rt); !s.manager.NextDue().IsZero() {
			quiet = -1
		}
	}
}

// sound is what is true at every moment.
func (s *harness) sound(rt *rapid.T) {
	if s.t.Failed() {
		rt.FailNow()
	}
	if s.offered().Cmp(s.base) > 0 {
		rt.Fatalf("%s is offered for sale and %s held: %s", s.offered(), s.base, s.stands())
	}
	for range 3 { // the engine calls Due when it is due: that must end
		if t := s.manager.NextDue(); s.wild == nil && !t.IsZero() && !t.After(s.at) {
			s.wait(0)
		}
	}
	if t := s.manager.NextDue(); s.wild == nil && !t.IsZero() && !t.After(s.at) {
		rt.Fatalf("due at %s for ever; the book: %s, pending %+v", t, s.manager.Book().NextDue(),
			s.manager.Book().Pending())
	}
}

// wasDust says that a bracket holds so little that it was worth less than the market takes at some price of
// these histories: an exit that the venue refused then is not placed again when the price comes back.
func wasDust(k *Manager, g *bracket) bool {
	return k.sym[0].rules.Dust(g.held.Min(k.Ledger().Quantity(btc)), d("90"))
}

// atRest is what is true once everything was answered: the strategy sees what is, what it sees as open stands
// at the venue, and brackets cover what they hold.
func (s *harness) atRest(rt interface{ Fatalf(string, ...any) }) {
	const least = "0.06" // the market takes nothing smaller
	k := s.manager
	if held := k.Ledger().Quantity(btc); held.Cmp(s.base) != 0 {
		rt.Fatalf("the books have %s, the venue %s", held, s.base)
	}
	for _, p := range k.orders {
		sum := dec{}
		for _, id := range p.ids {
			sum = order.Plus(sum, s.seen[id].CumQuantity)
		}
		if p.FilledQuantity.Cmp(sum) != 0 {
			rt.Fatalf("%s %s shows %s, %s filled", p.Role, p.ID, p.FilledQuantity, sum)
		}
		switch {
		case p.group != nil && p.done && p.ending == "" &&
			!slices.Contains([]market.Reason{"", "strategy", "oco", "position_closed"}, p.Reason) &&
			p.group.held.IsPos() && !wasDust(k, p.group):
			rt.Fatalf("%s %s is %s (%s), and nobody wanted that", p.Role, p.ID, p.Status, p.Reason)
		case p.done != p.Status.Final():
			rt.Fatalf("%s %s is done (%t) and %s", p.Role, p.ID, p.done, p.Status)
		case !p.done && !p.waiting && !s.has(p.currentID()):
			rt.Fatalf("%s %s is %s and not at the venue", p.Role, p.ID, p.Status)
		case !p.done && p.ending != "":
			rt.Fatalf("%s %s is %s, and was to end by %q", p.Role, p.ID, p.Status, p.ending)
		case !p.done && p.waiting && p.group == nil:
			rt.Fatalf("%s %s waits; at the venue: %s", p.Role, p.ID, s.stands())
		case p.done && s.has(p.currentID()):
			rt.Fatalf("%s %s is %s and at the venue", p.Role, p.ID, p.Status)
		}
	}
	free, bare := order.Minus(s.base, s.offered()), dec{}
	for _, g := range k.protector.groups {
		short := g.held
		for _, p := range g.legs() {
			if !p.waiting {
				o := s.seen[p.currentID()]
				short = order.Minus(g.held, order.Minus(o.Quantity, o.CumQuantity))
				break
			}
		}
		if bare = bare.Max(short); g.lame == "" && len(g.legs()) == 2 &&
			g.legs()[0].waiting != g.legs()[1].waiting {
			rt.Fatalf("half a pair: %s", s.stands())
		}
	}
	if gaps := k.Gaps(s.at); len(gaps) > 0 {
		rt.Fatalf("%v; at the venue: %s", gaps, s.stands())
	}
	if bare.Min(free).Cmp(d(least)) > 0 {
		rt.Fatalf("%s is without its exits, %s is free; at the venue: %s", bare, free, s.stands())
	}
}

// histories is how many a test runs.
func histories(t *testing.T, each func(*rapid.T)) {
	rounds := ring.Size(2, 10, 1000) // 100,000 of each kind in the longest
	for range rounds {
		if rapid.Check(t, each); t.Failed() { // 100 histories
			return
		}
	}
}

// TestNeverSellsMoreThanItHolds decides, fills, cancels and replaces at random: what is offered for sale is
// never more than what is held, the books balance, and in the end what brackets hold is protected.
func TestNeverSellsMoreThanItHolds(t *testing.T) {
	histories(t, func(rt *rapid.T) {
		s := newHarness(t)
		history(rt, s, false)
		s.atRest(rt)
	})
}

// TestBadNetwork is the same where calls are lost on the way there or back, and messages come late, in
// any order or not at all.
func TestBadNetwork(t *testing.T) {
	histories(t, func(rt *rapid.T) {
		s := newHarness(t)
		history(rt, s, true)
		s.atRest(rt)
	})
}
