package deploy

import (
	"testing"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"
)

func money(s string) *decimal.Decimal {
	d := decimal.MustParse(s)
	return &d
}

func count(n int64) *int64 { return &n }

func TestLimitsOfAnEntry(t *testing.T) {
	s := &source{}
	s.answers(t, registryOf(nil, entryOf(tree{"limits": tree{
		"max_capital": "123456789012345678.987654321987654321", "max_order_value": "0",
		"max_position_value": "0.000000000000000001", "max_daily_loss": "3.50",
		"max_drawdown": "0.25", "price_collar_bps": 250.0, "max_orders_per_minute": 10.0,
		"max_instruments": 1.0, "max_venues": 1.0, "quote_currency": "USDT",
	}})))
	a, err := policyOf(t, s).Admit(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	l := a.Limits
	for name, c := range map[string]struct {
		got  *decimal.Decimal
		want string
	}{
		"capital": {l.Capital, "123456789012345678.9"}, "order": {l.OrderValue, "0"},
		"position": {l.PositionValue, "0.000000000000000001"},
		"loss":     {l.DailyLoss, "3.5"}, "drawdown": {l.Drawdown, "0.25"},
		"collar": {l.PriceCollar, "0.025"},
	} {
		if c.got == nil || c.got.Cmp(decimal.MustParse(c.want)) != 0 {
			t.Errorf("%s is %v, want %s", name, c.got, c.want)
		}
	}
	if *l.OrdersPerMinute != 10 || *l.Instruments != 1 || *l.Venues != 1 || l.QuoteCurrency != "USDT" {
		t.Errorf("%+v", l)
	}
}

func TestTighten(t *testing.T) {
	entry := Limits{Capital: money("1000"), OrderValue: money("50"), Drawdown: money("0.25"),
		OrdersPerMinute: count(10), QuoteCurrency: "USDT"}
	server := Limits{OrderValue: money("80"), PositionValue: money("2500"), Drawdown: money("0.1"),
		OrdersPerMinute: count(60), Venues: count(1)}
	for _, got := range []Limits{entry.Tighten(server), server.Tighten(entry)} {
		if got.Capital.String() != "1000" || got.OrderValue.String() != "50" ||
			got.PositionValue.String() != "1000" || got.Drawdown.String() != "0.1" ||
			*got.OrdersPerMinute != 10 || *got.Venues != 1 || got.QuoteCurrency != "USDT" ||
			got.DailyLoss != nil || got.Instruments != nil {
			t.Errorf("%+v", got)
		}
	}
	if got := (Limits{Capital: money("10")}).Tighten(
		Limits{OrderValue: money("50")}); got.OrderValue.String() != "10" {
		t.Errorf("an order of %v of a capital of 10", got.OrderValue)
	}
}

// TestTightenNeverLoosens: whatever is joined, no bound grows and none is lost.
func TestTightenNeverLoosens(t *testing.T) {
	draw := func(t *rapid.T, name string) *decimal.Decimal {
		if rapid.Bool().Draw(t, name+" is there") {
			d := decimal.MustNew(rapid.Int64Range(0, 1000).Draw(t, name), 2)
			return &d
		}
		return nil
	}
	limits := func(t *rapid.T, name string) Limits {
		return Limits{Capital: draw(t, name+" capital"), OrderValue: draw(t, name+" order"),
			PositionValue: draw(t, name+" position"), DailyLoss: draw(t, name+" loss")}
	}
	bounds := func(l Limits) []*decimal.Decimal {
		return []*decimal.Decimal{l.Capital, l.OrderValue, l.PositionValue, l.DailyLoss}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := limits(t, "a"), limits(t, "b")
		got := a.Tighten(b)
		for i, bound := range bounds(got) {
			for _, one := range []*decimal.Decimal{bounds(a)[i], bounds(b)[i]} {
				if one != nil && (bound == nil || bound.Cmp(*one) > 0) {
					t.Fatalf("bound %d: %v of %v", i, bound, one)
				}
			}
		}
		again := got.Tighten(got)
		for i, bound := range bounds(got) {
			if other := bounds(again)[i]; (bound == nil) != (other == nil) || bound != nil &&
				bound.Cmp(*other) != 0 {
				t.Fatalf("bound %d changes from %v to %v", i, bound, other)
			}
		}
	})
}
