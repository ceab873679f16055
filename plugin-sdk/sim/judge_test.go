package sim

import (
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestJudge: whoever runs the simulator may refuse an order that it would accept. The order is there,
// rejected by the code, and the strategy is told; a change that is refused leaves the order as it was.
func TestJudge(t *testing.T) {
	options, err := ResolveOptions(nil, DefaultFees())
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	e, err := NewEngine(Config{
		Symbols: []market.Symbol{"BTC/USDT"}, Timeframe: market.MustTimeframe("1h"),
		InitialCash: decimal.MustParse("1000"), Options: options,
		Judge: func(o *market.Order, in *market.Intent) market.Reason {
			asked++
			if o.Quantity.Cmp(decimal.MustParse("2")) > 0 || in.Size.Kind == market.SizeQuoteAmount &&
				in.Size.Value > 100 {
				return "TOO_LARGE"
			}
			return ""
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := Batch{CloseTime: 3_600_000,
		Candles: []market.Candle{{CloseTime: 3_600_000, Open: 100, High: 100, Low: 100, Close: 100}},
		Closed:  []bool{true}}
	if err := e.Match(&b); err != nil {
		t.Fatal(err)
	}
	limit := func(q float64) market.Intent {
		return market.Intent{Side: market.Buy, Type: market.Limit,
			Size: market.Size{Kind: market.SizeQuantity, Value: q}, LimitPrice: 50, ClientRef: "r"}
	}
	bad := limit(1)
	bad.LimitPrice = 0
	if err := e.Accept([]market.Intent{limit(1), limit(3), bad,
		{Side: market.Buy, Size: market.Size{Kind: market.SizeQuoteAmount, Value: 101}}}); err != nil {
		t.Fatal(err)
	}
	if asked != 3 {
		t.Errorf("asked about %d orders; one was refused before", asked)
	}
	b.CloseTime, b.Candles[0].OpenTime, b.Candles[0].CloseTime = 7_200_000, 3_600_000, 7_200_000
	if err := e.Match(&b); err != nil {
		t.Fatal(err)
	}
	got := map[market.OrderID]string{}
	for _, o := range e.Updates() {
		got[o.ID] = o.Status.String() + " " + string(o.Reason)
	}
	if got[1] != "open " || got[2] != "rejected TOO_LARGE" || got[3] != "rejected invalid_price" ||
		got[4] != "rejected TOO_LARGE" {
		t.Errorf("the strategy is told %v", got)
	}
	if err := e.Accept(
		[]market.Intent{{Action: market.Replace, Ref: "r",
			Size: market.Size{Kind: market.SizeQuantity, Value: 3}}}); err != nil {
		t.Fatal(err)
	}
	open := e.OpenOrders()
	if len(open) != 1 || open[0].Quantity.String() != "1.00000000" &&
		open[0].Quantity.Trim(0).String() != "1" || e.Stats().RejectedIntents != 1 ||
		e.Stats().RejectedOrders != 3 {
		t.Errorf("%+v %+v", open, e.Stats())
	}
}

// TestStaleInputs: from a close at which the newest value is too old entries and changes of entries are
// rejected, and before the first value; exits and what stands go on, and entries again with a newer value.
func TestStaleInputs(t *testing.T) {
	const hour = 3_600_000
	options, err := ResolveOptions([]byte(`{"allow_short":true}`), DefaultFees())
	if err != nil {
		t.Fatal(err)
	}
	ages := []market.InputAge{{Name: "any"}, {Name: "rate", Max: 2 * time.Hour}}
	rows := [][]market.InputRow{nil, {{Time: 5, Known: 2 * hour, Value: 1},
		{Time: 4, Known: 5 * hour, Value: 9}, // of an earlier time: nothing newer
		{Time: 6, Known: 6 * hour, Value: 1}}}
	if StaleInputs(ages[:1], rows) != nil {
		t.Error("inputs without an age hold entries back")
	}
	e, err := NewEngine(Config{Symbols: []market.Symbol{"BTC/USDT"}, Timeframe: market.MustTimeframe("1h"),
		InitialCash: decimal.MustParse("10000"), Options: options, Stale: StaleInputs(ages, rows)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	one := market.Size{Kind: market.SizeQuantity, Value: 1}
	buy, sell := market.Intent{Side: market.Buy, Size: one}, market.Intent{Side: market.Sell, Size: one}
	rest := market.Intent{Side: market.Buy, Type: market.Limit, LimitPrice: 1, Size: one, ClientRef: "rest"}
	change := market.Intent{Action: market.Replace, Ref: "rest", LimitPrice: 2}
	two := buy
	two.Size.Value = 2
	plan := map[int64][]market.Intent{1: {buy}, 2: {buy, rest}, 5: {buy, two, change, sell}, 6: {buy}}
	want := map[int64]int64{1: 1, 2: 0, 5: 2, 6: 0}
	for h := int64(1); h <= 7; h++ {
		b := Batch{CloseTime: market.Time(h * hour), Closed: []bool{true}, Candles: []market.Candle{{
			OpenTime: market.Time((h - 1) * hour), CloseTime: market.Time(h * hour), Open: 100, High: 100,
			Low: 100, Close: 100}}}
		if err := e.Match(&b); err != nil {
			t.Fatal(err)
		}
		before := e.Stats()
		if err := e.Accept(plan[h]); err != nil {
			t.Fatal(err)
		}
		if n := e.Stats().RejectedOrders - before.RejectedOrders; n != want[h] {
			t.Errorf("at hour %d %d orders are rejected, want %d", h, n, want[h])
		}
		if h == 5 && e.Stats().RejectedIntents != before.RejectedIntents+1 {
			t.Error("the change of an entry is not rejected")
		}
	}
	if held, _, _ := e.Holding(0); held != 1 || e.Stats().Fills != 3 {
		t.Errorf("%v held after %d fills", held, e.Stats().Fills)
	}
}
