package sdk_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/internal/step"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestIntents(t *testing.T) {
	child := func(c market.Child) *market.Child { return &c }
	cases := []struct {
		name string
		got  sdk.Intents
		want market.Intent
	}{
		{"market", sdk.Buy(sdk.AllCash()),
			market.Intent{Size: market.Size{Kind: market.SizeCashFraction, Value: 1}}},
		{"limit", sdk.Buy(sdk.Quantity(2)).Limit(99),
			market.Intent{Type: market.Limit, LimitPrice: 99, Size: sdk.Quantity(2)}},
		{"stop", sdk.Sell(sdk.QuoteAmount(5)).Stop(90),
			market.Intent{Side: market.Sell, Type: market.Stop, StopPrice: 90, Size: sdk.QuoteAmount(5)}},
		{"stop limit", sdk.Buy(sdk.AllCash()).Stop(101).Limit(102),
			market.Intent{Type: market.StopLimit, StopPrice: 101, LimitPrice: 102, Size: sdk.AllCash()}},
		{"limit stop", sdk.Buy(sdk.AllCash()).Limit(102).Stop(101),
			market.Intent{Type: market.StopLimit, StopPrice: 101, LimitPrice: 102, Size: sdk.AllCash()}},
		{"share of the equity", sdk.Buy(sdk.EquityFraction(0.5)),
			market.Intent{Size: market.Size{Kind: market.SizeEquityFraction, Value: 0.5}}},
		{"risk", sdk.Buy(sdk.RiskFraction(0.01)).StopLoss(sdk.At(95)),
			market.Intent{Size: market.Size{Kind: market.SizeRiskFraction, Value: 0.01},
				StopLoss: child(market.Child{Price: 95})}},
		{"target", sdk.Target(-0.5).On("A/B"), market.Intent{Symbol: "A/B",
			Size: market.Size{Kind: market.SizeTargetFraction, Value: -0.5}}},
		{"position", sdk.Sell(sdk.WholePosition()),
			market.Intent{Side: market.Sell, Size: sdk.WholePosition()}},
		{"trailing", sdk.Sell(sdk.WholePosition()).TrailPercent(0.1),
			market.Intent{Side: market.Sell, Size: sdk.WholePosition(), Type: market.TrailingStop,
				TrailPercent: 0.1}},
		{"trailing amount", sdk.Sell(sdk.WholePosition()).TrailAmount(3),
			market.Intent{Side: market.Sell, Size: sdk.WholePosition(), Type: market.TrailingStop,
				TrailAmount: 3}},
		{"bracket", sdk.Buy(sdk.CashFraction(0.5)).StopLoss(sdk.Percent(0.02)).TakeProfit(sdk.At(120)),
			market.Intent{Size: sdk.CashFraction(0.5), StopLoss: child(market.Child{Percent: 0.02}),
				TakeProfit: child(market.Child{Price: 120})}},
		{"trailing stop loss", sdk.Buy(sdk.AllCash()).StopLoss(sdk.TrailingPercent(0.02)),
			market.Intent{Size: sdk.AllCash(), StopLoss: child(market.Child{TrailPercent: 0.02})}},
		{"trailing amount stop loss", sdk.Buy(sdk.AllCash()).StopLoss(sdk.TrailingAmount(2)),
			market.Intent{Size: sdk.AllCash(), StopLoss: child(market.Child{TrailAmount: 2})}},
		{"life", sdk.Buy(sdk.AllCash()).Limit(1).ExpireAfter(3),
			market.Intent{Size: sdk.AllCash(), Type: market.Limit, LimitPrice: 1, TimeInForce: market.GTD,
				ExpireAfter: 3}},
		{"at once", sdk.Buy(sdk.AllCash()).ImmediateOrCancel().ReduceOnly(),
			market.Intent{Size: sdk.AllCash(), TimeInForce: market.IOC, ReduceOnly: true}},
		{"post-only", sdk.Buy(sdk.AllCash()).Limit(1).PostOnly(),
			market.Intent{Type: market.Limit, LimitPrice: 1, Size: sdk.AllCash(), PostOnly: true}},
		{"targets", sdk.Buy(sdk.AllCash()).TakePart(0.5, sdk.Percent(0.1)).TakePart(0.4, sdk.At(9)),
			market.Intent{Size: sdk.AllCash(), Targets: []market.TakeProfit{
				{Level: market.Child{Percent: 0.1}, Share: 0.5},
				{Level: market.Child{Price: 9}, Share: 0.4}}}},
		{"names", sdk.Buy(sdk.AllCash()).On("A/B").Tag("t").Ref("r"),
			market.Intent{Symbol: "A/B", Size: sdk.AllCash(), Tag: "t", ClientRef: "r"}},
		{"cancel", sdk.Cancel("r"), market.Intent{Action: market.Cancel, Ref: "r"}},
		{"cancel all", sdk.CancelAll().On("A/B"), market.Intent{Action: market.CancelAll, Symbol: "A/B"}},
		{"close", sdk.ClosePosition(), market.Intent{Action: market.Close}},
		{"move stop", sdk.MoveStop(5).On("A/B"), market.Intent{Action: market.SetLeg, Symbol: "A/B",
			StopLoss: &market.Child{Price: 5}}},
		{"move target", sdk.MoveTarget(5), market.Intent{Action: market.SetLeg,
			TakeProfit: &market.Child{Price: 5}}},
		{"replace", sdk.Replace("r").WithSize(sdk.Quantity(1)).Limit(5),
			market.Intent{Action: market.Replace, Ref: "r", Size: sdk.Quantity(1), Type: market.Limit,
				LimitPrice: 5}},
	}
	for _, c := range cases {
		if len(c.got) != 1 || !reflect.DeepEqual(c.got[0], c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, c.got, c.want)
		}
	}
	base := sdk.Buy(sdk.AllCash()).TakePart(0.5, sdk.At(9))
	if base.TakePart(0.2, sdk.At(8)); len(base.TakePart(0.1, sdk.At(7))[0].Targets) != 2 || base[0].OCO != 0 {
		t.Errorf("a base that is used twice is %+v", base)
	}
	if g := sdk.OCO(base.And(base), base); len(g) != 3 || g[0].OCO != 1 || g[2].OCO != 3 || base[0].OCO != 0 {
		t.Errorf("a group is %+v", g)
	}
	two := sdk.Cancel("a").And(sdk.Buy(sdk.AllCash())).Tag("both")
	if len(two) != 2 || two[0].Tag != "both" || two[1].Tag != "both" {
		t.Errorf("got %+v", two)
	}
}

// TestBuildersLeaveTheirReceiver: two orders made from one base are two orders, whichever builder made them.
func TestBuildersLeaveTheirReceiver(t *testing.T) {
	base := sdk.Buy(sdk.Quantity(1)).And(sdk.Sell(sdk.Quantity(2)))
	before := fmt.Sprintf("%+v", base)
	for name, change := range map[string]func() sdk.Intents{
		"On": func() sdk.Intents {
			return base.On("A/B")
		}, "WithSize": func() sdk.Intents { return base.WithSize(sdk.Quantity(3)) },
		"Limit": func() sdk.Intents {
			return base.Limit(99)
		}, "Stop": func() sdk.Intents { return base.Stop(101) },
		"TrailPercent": func() sdk.Intents {
			return base.TrailPercent(0.1)
		}, "TrailAmount": func() sdk.Intents { return base.TrailAmount(2) },
		"ExpireAfter": func() sdk.Intents {
			return base.ExpireAfter(3)
		}, "ImmediateOrCancel": func() sdk.Intents { return base.ImmediateOrCancel() },
		"ReduceOnly": func() sdk.Intents {
			return base.ReduceOnly()
		}, "Tag": func() sdk.Intents { return base.Tag("t") },
		"StopLoss": func() sdk.Intents {
			return base.StopLoss(sdk.At(1))
		}, "TakeProfit": func() sdk.Intents { return base.TakeProfit(sdk.At(9)) },
		"Ref": func() sdk.Intents { return base.Ref("r") },
		"And": func() sdk.Intents { return base[:1].And(sdk.ClosePosition())[:2] },
	} {
		if after := fmt.Sprintf("%+v", change()); after == before {
			t.Errorf("%s changes nothing", name)
		}
		if after := fmt.Sprintf("%+v", base); after != before {
			t.Fatalf("%s has changed its receiver: %s, was %s", name, after, before)
		}
	}
	entry, stop := base[:1].Limit(99), base[:1].Stop(101)
	if entry[0].Type != market.Limit || entry[0].StopPrice != 0 || stop[0].Type != market.Stop ||
		stop[0].LimitPrice != 0 {
		t.Errorf("a limit and a stop order of one base: %+v %+v", entry[0], stop[0])
	}
}

// TestReduceOnlyFollowsTheSize: the size that an order has in the end says whether it can only reduce.
func TestReduceOnlyFollowsTheSize(t *testing.T) {
	for name, c := range map[string]struct {
		in   sdk.Intents
		want bool
	}{
		"whole position":        {sdk.Sell(sdk.WholePosition()), true},
		"resized to it":         {sdk.Sell(sdk.Quantity(2)).WithSize(sdk.WholePosition()), true},
		"resized from it":       {sdk.Sell(sdk.WholePosition()).WithSize(sdk.Quantity(2)), false},
		"quantity":              {sdk.Sell(sdk.Quantity(2)), false},
		"quantity, reduce-only": {sdk.Sell(sdk.Quantity(2)).ReduceOnly(), true},
		"reduce-only whatever it is of": {
			sdk.Sell(sdk.WholePosition()).ReduceOnly().WithSize(sdk.Quantity(2)), true},
	} {
		if got := c.in[0].Reduces(); got != c.want {
			t.Errorf("%s: reduces %v, want %v", name, got, c.want)
		}
	}
}

type sink struct{ lines []string }

func (s *sink) Log(step int64, _ market.Time, level, message string, keyvals []any) {
	s.lines = append(s.lines, fmt.Sprint(step, level, message, keyvals))
}

func (s *sink) Publish(step int64, at market.Time, symbol market.Symbol, name string, value float64) {
	s.lines = append(s.lines, fmt.Sprint(step, int64(at), name+string(symbol), value))
}

func viewOf(s *step.Step) sdk.View { return sdk.View{SymbolView: sdk.SymbolView(step.At(s, 0))} }

func TestView(t *testing.T) {
	out := &sink{}
	orders := []market.Order{{ID: 1, Symbol: "A/X"}, {ID: 2, Symbol: "B/X"}}
	at := &step.Step{
		Index: 7, Time: 3600000, Warmup: true, Symbols: []market.Symbol{"A/X", "B/X"},
		Candles: []market.Candle{{Close: 1}, {Close: 2}}, Closed: []bool{false, true}, Cash: 10, Equity: 11,
		Positions: []step.Position{{Quantity: 1}, {Quantity: -1}}, QuantityStep: 0.5,
		OpenOrders: func() []market.Order { return orders }, Random: rand.New(rand.NewPCG(1, 2)), Sink: out,
	}
	v := viewOf(at)
	if v.Index() != 7 || v.Time() != time.Unix(3600, 0).UTC() || !v.Warmup() || v.Cash() != 10 ||
		v.Equity() != 11 || v.QuantityStep() != 0.5 || len(v.Symbols()) != 2 {
		t.Error("a plain value is wrong")
	}
	if v.Candle().Close != 1 || v.For("B/X").Candle().Close != 2 || v.Closed() || !v.For("B/X").Closed() {
		t.Error("a candle is wrong")
	}
	if !v.Long() || v.Short() || v.Flat() || !v.For("B/X").Short() || v.For("B/X").Long() ||
		v.For("B/X").Flat() || v.For("B/X").Position().Quantity != -1 {
		t.Error("a position is wrong")
	}
	if len(v.AllOpenOrders()) != 2 || len(v.OpenOrders()) != 1 || len(v.For("B/X").OpenOrders()) != 1 ||
		v.For("B/X").OpenOrders()[0].ID != 2 {
		t.Error("open orders are wrong")
	}
	if v.Rand().Uint64() != rand.New(rand.NewPCG(1, 2)).Uint64() {
		t.Error("another random source")
	}
	v.Log("a", "k", 1)
	v.Warn("b")
	v.Debug("c")
	v.Publish("p", 1.5)
	v.For("A/X").Publish("p", 2)
	v.For("B/X").Publish("p", 3)
	want := []string{"7infoa[k 1]", "7warnb[]", "7debugc[]", "7 3600000p1.5", "7 3600000pA/X2", "7 3600000pB/X3"}
	if !reflect.DeepEqual(out.lines, want) {
		t.Errorf("got %q, want %q", out.lines, want)
	}
	defer func() {
		if p := recover(); p == nil {
			t.Error("an unknown symbol must panic")
		}
	}()
	v.For("C/X")
}

// A View without outlets, as in a simple test, is no reason to crash.
func TestBareView(t *testing.T) {
	v := viewOf(&step.Step{Symbols: []market.Symbol{"A/X"}})
	v.Log("a")
	v.Publish("p", 1)
	if v.OpenOrders() != nil || v.AllOpenOrders() != nil {
		t.Error("orders from nowhere")
	}
}
