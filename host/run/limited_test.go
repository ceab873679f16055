package run

import (
	"context"
	"testing"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/trade/risk"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

type greedyParams struct {
	Share  float64 `param:"share" default:"0.9" min:"0" max:"1" doc:"Of the cash, at each candle"`
	Amount float64 `param:"amount" default:"0" min:"0" doc:"Units to buy instead"`
}

// greedy buys at every candle.
type greedy struct{ greedyParams }

func newGreedy(p greedyParams) (sdk.Strategy, error) { return greedy{p}, nil }

func (g greedy) OnCandle(sdk.View) (sdk.Intents, error) {
	if g.Amount > 0 {
		return sdk.Buy(sdk.Quantity(g.Amount)), nil
	}
	return sdk.Buy(sdk.CashFraction(g.Share)), nil
}

// held is the limits of a deployment.
func held(edit func(*risk.Entry)) *risk.Limits {
	amount := func(text string) *decimal.Decimal {
		d := decimal.MustParse(text)
		return &d
	}
	e := risk.Entry{
		MaxOrderNotional: amount("500"), MaxPositionNotional: amount("2500"), MaxGrossNotional: amount("10000"),
		MaxDailyLossAmount: amount("300"), MaxDrawdown: amount("0.25"),
	}
	if edit != nil {
		edit(&e)
	}
	l := risk.Defaults(false).Tighten(e)
	return &l
}

// TestLimitsHoldAPlay: what a strategy asks for is cut to the limits, or refused by their codes.
func TestLimitsHoldAPlay(t *testing.T) {
	l := newLab(t, 200, "greedy")
	lock := Drive{Lockstep: true}
	x := l.driven(request("greedy", nil), Split{Drive: lock, Limits: held(nil)})
	fills := x.Results().Fills
	if len(fills) < 5 {
		t.Fatalf("%d fills", len(fills))
	}
	for i, f := range fills {
		value, _ := f.Quantity.Mul(f.Price)
		if most := decimal.MustParse("510"); value.Cmp(most) > 0 {
			t.Errorf("fill %d is worth %s", i, value)
		}
	}
	for i, v := range x.Results().Equity.PositionValue {
		if v > 2700 { // the limit holds at the close that an order is judged at
			t.Fatalf("the position of step %d is worth %v", i, v)
		}
	}
	rejected := map[market.Reason]int{}
	for _, o := range x.Results().Orders {
		if o.Status == market.StatusRejected {
			rejected[o.Reason]++
		}
	}
	if rejected[market.Reason(risk.PositionNotional)]+rejected[market.Reason(risk.OrderNotional)] == 0 {
		t.Errorf("rejected: %v", rejected)
	}

	// A quantity that is too large is refused, not cut.
	x = l.driven(request("greedy", map[string]any{"amount": 1e6}), Split{Drive: lock, Limits: held(nil)})
	if n := len(x.Results().Fills); n != 0 {
		t.Errorf("%d fills of what is too large", n)
	}

	// A drawdown beyond the limit closes everything for good.
	x = l.driven(request("greedy", nil), Split{Drive: lock, Limits: held(func(e *risk.Entry) {
		small := decimal.MustParse("0.0005")
		e.MaxDrawdown = &small
	})})
	values := x.Results().Equity.PositionValue
	if n := len(x.Results().Trades); n != 1 || values[len(values)-1] != 0 {
		t.Errorf("%d trades, and %v at the end", n, values[len(values)-1])
	}

	if _, err := l.launcher.LaunchSplit(context.Background(), "run_test", request("greedy", nil), Split{Limits: held(nil)}); err == nil {
		t.Error("limits were taken without lockstep")
	}
}
