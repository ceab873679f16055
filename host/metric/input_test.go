package metric

import (
	"errors"
	"math"
	"testing"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

func dec(s string) decimal.Decimal { return decimal.MustParse(s) }

func TestInputErrors(t *testing.T) {
	for field, spoil := range map[string]func(*Input){
		"timeframe":               func(in *Input) { in.Timeframe = market.Timeframe{} },
		"calendar":                func(in *Input) { in.Calendar = "lunar" },
		"curves[0]":               func(in *Input) { in.Curves[0].Exposure = nil },
		"curves[0].equity[0]":     func(in *Input) { in.Curves[0].Equity[0] = 0 },
		"curves[0].equity[1]":     func(in *Input) { in.Curves[0].Equity[1] = math.NaN() },
		"curves[0].equity[2]":     func(in *Input) { in.Curves[0].Equity[2] = math.Inf(1) },
		"curves[0].exposure[1]":   func(in *Input) { in.Curves[0].Exposure[1] = math.NaN() },
		"curves[0].exposure[2]":   func(in *Input) { in.Curves[0].Exposure[2] = -1 },
		"curves[0].close_time[1]": func(in *Input) { in.Curves[0].CloseTime[1] = in.Curves[0].CloseTime[0] },
		"curves[0].open_time[2]":  func(in *Input) { in.Curves[0].OpenTime[2] = in.Curves[0].CloseTime[2] },
		"curves[0].closes[0]":     func(in *Input) { in.Curves[0].Closes = []Closes{{"A/B", 0, 1}} },
	} {
		in := inputOf("1d", 100, 101, 102)
		spoil(&in)
		_, err := Compute(in)
		var bad *InputError
		if !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: error %v", field, err)
		}
	}
}

func TestTotals(t *testing.T) {
	var a, b Totals
	a.AddFill(&market.Fill{Quantity: dec("0.15"), Price: dec("61975"), Fee: dec("9.29625"),
		Slippage: dec("4.6455")})
	b.AddFill(&market.Fill{Quantity: dec("2"), Price: dec("10"), Fee: dec("-0.01"), Ambiguous: true})
	a.AddOrder(&market.Order{Status: market.StatusFilled})
	b.AddOrder(&market.Order{Status: market.StatusRejected})
	b.RejectedIntents, b.OpenTrades = 4, 1
	before := a
	a.Merge(&b)
	if got := a.FillNotional.Float64(); got != 9316.25 {
		t.Errorf("notional %v", got)
	}
	if fees, slip := a.FeesPaid.Float64(), a.SlippagePaid.Float64(); fees != 9.28625 || slip != 4.6455 {
		t.Errorf("fees %v, slippage %v", fees, slip)
	}
	if a.Fills != 2 || a.AmbiguousFills != 1 || a.Orders != 2 || a.RejectedOrders != 1 ||
		a.RejectedIntents != 4 || a.OpenTrades != 1 {
		t.Errorf("counts %+v", a)
	}
	if before.Fills != 1 || before.FillNotional.Float64() != 9296.25 {
		t.Error("a copy changed with the original")
	}
}
