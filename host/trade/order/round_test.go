package order

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestRounding rounds orders for random markets and lets a second implementation judge
// them, which works on fractions of the numbers' texts and shares nothing with the first.
func TestRounding(t *testing.T) {
	t.Parallel()
	n := ring.Size(10_000, 100_000, 10_000_000)
	r := rand.New(rand.NewPCG(1, 2))
	denied, taken := 0, 0
	for i := range n {
		m, s, last := randomMarket(r)
		want := s
		rules := Rules{m}
		s.Quantity = rules.RoundQuantity(s.Type, s.Quantity)
		if s.LimitPrice.IsPos() {
			s.LimitPrice = rules.RoundPrice(s.Side, s.LimitPrice)
		}
		if s.StopPrice.IsPos() {
			s.StopPrice = rules.RoundPrice(s.Side, s.StopPrice)
		}
		code := rules.Check(s, last)
		if fault := judge(m, s, want, last, code); fault != "" {
			t.Fatalf("case %d: %s\nmarket %+v\nwanted %+v\nrounded %+v: %q", i, fault, m, want, s, code)
		}
		if code == "" {
			taken++
		} else {
			denied++
		}
	}
	if taken < n/10 || denied < n/10 {
		t.Errorf("the cases are lopsided: %d taken, %d denied", taken, denied)
	}
	ring.Count(t, "random markets rounded", taken+denied, n)
}

func randomMarket(r *rand.Rand) (exchange.Market, Spec, dec) {
	num := func(most int64, scale int) dec { return decimal.MustNew(1+r.Int64N(most), scale) }
	step := func() dec { return decimal.MustNew([]int64{1, 1, 1, 5, 25}[r.IntN(5)], r.IntN(9)) }
	maybe := func(d dec) dec {
		if r.IntN(3) == 0 {
			return dec{}
		}
		return d
	}
	m := exchange.Market{
		PriceTick: step(), QuantityStep: step(), MarketQuantityStep: maybe(step()),
		MinQuantity: maybe(num(1000, 4)), MaxQuantity: maybe(num(1_000_000, 2)),
		MarketMinQuantity: maybe(num(1000, 4)), MarketMaxQuantity: maybe(num(1_000_000, 2)),
		MinNotional: maybe(num(1000, 2)), MaxNotional: maybe(num(100_000_000, 1)),
		PercentPriceUp:   maybe(decimal.MustNew(11+r.Int64N(40), 1)),
		PercentPriceDown: maybe(decimal.MustNew(1+r.Int64N(9), 1)),
	}
	last := num(10_000_000, r.IntN(6))
	near := func() dec {
		p, err := last.Mul(decimal.MustNew(800+r.Int64N(400), 3))
		if err != nil {
			return last
		}
		return p
	}
	s := Spec{Side: market.Side(r.IntN(2)), Type: market.OrderType(r.IntN(4)),
		Quantity: num(1_000_000_000, r.IntN(10))}
	if s.Type.NeedsLimit() {
		s.LimitPrice = near()
	}
	if s.Type.NeedsStop() {
		s.StopPrice = near()
	}
	return m, s, last
}

func frac(d dec) *big.Rat {
	r, ok := new(big.Rat).SetString(d.String())
	if !ok {
		panic(d.String())
	}
	return r
}

// judge returns the independent filter check. It says what is wrong.
func judge(m exchange.Market, s, want Spec, last dec, code string) string {
	multiple := func(x, step dec) bool { return new(big.Rat).Quo(frac(x), frac(step)).IsInt() }
	under := func(x *big.Rat, bound dec) bool { return !bound.IsZero() && x.Cmp(frac(bound)) < 0 }
	over := func(x *big.Rat, bound dec) bool { return !bound.IsZero() && x.Cmp(frac(bound)) > 0 }
	q := frac(s.Quantity)
	if q.Cmp(frac(want.Quantity)) > 0 || !multiple(s.Quantity, m.QuantityStep) {
		return "the quantity grew or is off the step"
	}
	onMarket := s.Type == market.Market || s.Type == market.Stop
	if onMarket && !m.MarketQuantityStep.IsZero() && !multiple(s.Quantity, m.MarketQuantityStep) {
		return "the quantity is off the market step"
	}
	if !onMarket || m.MarketQuantityStep.IsZero() {
		if new(big.Rat).Sub(frac(want.Quantity), q).Cmp(frac(m.QuantityStep)) >= 0 {
			return "the quantity lost a whole step"
		}
	}
	farthest := ""
	for _, p := range [][2]dec{{s.LimitPrice, want.LimitPrice}, {s.StopPrice, want.StopPrice}} {
		if p[1].IsZero() {
			continue
		}
		diff := new(big.Rat).Sub(frac(p[0]), frac(p[1]))
		if s.Side == market.Buy {
			diff.Neg(diff)
		}
		if !multiple(p[0], m.PriceTick) || diff.Sign() < 0 || diff.Cmp(frac(m.PriceTick)) >= 0 {
			return "a price is off the tick or on the wrong side"
		}
		up, down := new(big.Rat).Mul(frac(last), frac(m.PercentPriceUp)),
			new(big.Rat).Mul(frac(last), frac(m.PercentPriceDown))
		if p[0].IsZero() || (!m.PercentPriceUp.IsZero() && frac(p[0]).Cmp(up) > 0) ||
			(!m.PercentPriceDown.IsZero() && frac(p[0]).Cmp(down) < 0) {
			farthest = "far"
		}
	}
	price := last
	switch {
	case !s.LimitPrice.IsZero():
		price = s.LimitPrice
	case !s.StopPrice.IsZero():
		price = s.StopPrice
	}
	notional := new(big.Rat).Mul(q, frac(price))
	low := q.Sign() == 0 || under(q, m.MinQuantity) || under(notional, m.MinNotional) ||
		(onMarket && under(q, m.MarketMinQuantity))
	high := over(q, m.MaxQuantity) || over(notional, m.MaxNotional) ||
		(onMarket && over(q, m.MarketMaxQuantity))
	switch code {
	case "":
		if low || high || farthest != "" {
			return "an order passed that the filters refuse"
		}
	case CodeBelowMinimum:
		if !low {
			return "denied as too small, and it is not"
		}
	case CodeAboveMaximum:
		if !high {
			return "denied as too large, and it is not"
		}
	case CodePriceTooFar:
		if farthest == "" {
			return "denied for its price, and it is not far"
		}
	default:
		return "what is " + code
	}
	return ""
}

func TestExitQuantityAndDust(t *testing.T) {
	m := Rules{exchange.Market{QuantityStep: d("0.001"), MinQuantity: d("0.002"), MinNotional: d("5")}}
	for _, tc := range []struct{ position, free, want string }{
		{"1.0005", "2", "1"}, {"2", "0.9999", "0.999"}, {"0.0009", "1", "0"}, {"1", "0", "0"},
	} {
		if got := m.ExitQuantity(market.Market, d(tc.position), d(tc.free)); got.String() != tc.want {
			t.Errorf("position %s, free %s: %s, want %s", tc.position, tc.free, got, tc.want)
		}
	}
	for _, tc := range []struct {
		quantity, price string
		dust            bool
	}{
		{"0", "100", true}, {"0.0009", "100000", true}, {"0.0019", "100000", true},
		{"0.002", "100000", false}, {"0.05", "100", false}, {"0.0499", "100", true},
	} {
		if got := m.Dust(d(tc.quantity), d(tc.price)); got != tc.dust {
			t.Errorf("%s at %s: dust %v", tc.quantity, tc.price, got)
		}
	}
	if got := (Rules{}).RoundAmount(d("10.123456789")); got.String() != "10.12345678" {
		t.Errorf("amount %s", got)
	}
}
