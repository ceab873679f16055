package sdk_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// show runs a strategy over candles by hand and prints what became of its orders.
func show(s sdk.Strategy, candles *market.Series, options ...sdktest.Option) {
	r, err := sdktest.Run(candles, s,
		append(options, sdktest.Execution(`{"slippage_bps":0,"fee_taker":0,"fee_maker":0}`))...)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range r.Orders {
		fmt.Println(
			strings.TrimSpace(fmt.Sprintln(o.Symbol, o.Side, o.Type, o.Status, o.AveragePrice.Trim(0),
				o.Reason)))
	}
}

// act makes a strategy of a function, for short examples.
type act func(v sdk.View) sdk.Intents

func (a act) OnCandle(v sdk.View) (sdk.Intents, error) { return a(v), nil }

func ExampleBuy() {
	order := sdk.Buy(sdk.AllCash()).Limit(99.5).ExpireAfter(3).StopLoss(sdk.Percent(0.02)).TakeProfit(
		sdk.At(120))
	fmt.Println(order[0].Side, order[0].Type, order[0].LimitPrice, order[0].StopLoss.Percent,
		order[0].TakeProfit.Price)
	// Output: buy limit 99.5 0.02 120
}

// Two orders from one base, joined: the builders leave their receiver as it is.
func ExampleIntents_And() {
	base := sdk.Buy(sdk.QuoteAmount(1000)).ExpireAfter(2)
	show(act(func(v sdk.View) sdk.Intents {
		if v.Index() > 0 {
			return nil
		}
		return base.Limit(95).And(base.Stop(105))
	}), sdktest.Candles([4]float64{100, 100, 100, 100}, [4]float64{100, 101, 94, 96},
		[4]float64{96, 97, 96, 97}))
	// Output:
	// SYNTH/USD buy limit filled 95
	// SYNTH/USD buy stop expired 0 gtd
}

// An order that the account cannot pay for is rejected with a reason, and the run goes on.
func ExampleReason() {
	show(act(func(v sdk.View) sdk.Intents {
		if v.Index() > 0 {
			return nil
		}
		return sdk.Buy(sdk.Quantity(1000))
	}), sdktest.Closes(100, 100))
	// Output: SYNTH/USD buy market rejected 0 insufficient_cash
}

// Equal shares of two symbols, each bought when it closes above its open.
func ExampleView_For() {
	each := act(func(v sdk.View) sdk.Intents {
		var all sdk.Intents
		for _, symbol := range v.Symbols() {
			one := v.For(symbol)
			if c := one.Candle(); one.Closed() && one.Flat() && c.Close > c.Open {
				all = all.And(sdk.Buy(sdk.QuoteAmount(v.Equity() / 2)).On(symbol))
			}
		}
		return all
	})
	first := sdktest.Candles([4]float64{100, 101, 100, 101}, [4]float64{101, 101, 101, 101})
	second := sdktest.Candles([4]float64{20, 20, 19, 19}, [4]float64{19, 19, 19, 19})
	second.Symbol = "OTHER/USD"
	show(each, first, sdktest.More(second))
	// Output: SYNTH/USD buy market filled 101
}

// observer keeps what its fills call for and returns it from OnCandle, which follows at the
// same close.
type observer struct{ next sdk.Intents }

func (o *observer) OnFill(v sdk.View, f sdk.Fill) sdk.Intents {
	if f.Role == market.RoleEntry {
		price, _ := f.Price.Float64()
		o.next = sdk.Sell(sdk.WholePosition()).Limit(price * 1.01)
	}
	return nil
}

func (o *observer) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Index() == 0 {
		return sdk.Buy(sdk.AllCash()), nil
	}
	all := o.next
	o.next = nil
	return all, nil
}

func ExampleFillObserver() {
	show(&observer{},
		sdktest.Candles([4]float64{100, 100, 100, 100}, [4]float64{100, 100, 100, 100},
			[4]float64{100, 102, 100, 101}))
	// Output:
	// SYNTH/USD buy market filled 100
	// SYNTH/USD sell limit filled 101
}

type crossParams struct {
	Fast int `param:"fast" default:"10" min:"1" max:"500"`
	Slow int `param:"slow" default:"30" min:"2" max:"1000"`
}

func newCross(p crossParams) (sdk.Strategy, error) {
	if p.Fast >= p.Slow {
		return nil, sdk.InvalidParam("fast", "must be below slow")
	}
	return act(func(sdk.View) sdk.Intents { return nil }), nil
}

// A constructor refuses what the tags cannot express.
func ExampleInvalidParam() {
	_, err := newCross(crossParams{Fast: 30, Slow: 30})
	fmt.Println(err)
	// Output: /fast: must be below slow
}

// TestExampleStrategy: what the examples show holds for the host's checks too.
func TestExampleStrategy(t *testing.T) {
	sdktest.Conformance(t, sdk.Spec{Name: "cross", Timeframes: sdk.Timeframes("1h")}, newCross)
	candles := sdktest.Synth(42, 100, time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC), time.Hour)
	r := sdktest.Backtest(t, sdktest.New(t, newCross, func(p *crossParams) { p.Fast = 5 }), candles)
	if len(r.Orders) != 0 {
		t.Errorf("orders %+v", r.Orders)
	}
}
