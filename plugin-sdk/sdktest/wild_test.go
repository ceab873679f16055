package sdktest_test

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// wild does everything that an API allows, at random and often wrongly, so that all
// of it crosses the wire. What it sees decides what it does next.
type wild struct {
	p     wildParams
	fills int
}

type wildParams struct {
	Rate  float64 `param:"rate" default:"0.5" above:"0" max:"1"`
	Short bool    `param:"short" default:"true"`
	Style string  `param:"style" default:"mixed" enum:"mixed,limits"`
	Depth uint8   `param:"depth" default:"20" min:"1" search:"log"`
}

func newWild(p wildParams) (sdk.Strategy, error) { return &wild{p: p}, nil }

func (w *wild) Warmup() int { return int(w.p.Depth) }

func (w *wild) OnFill(v sdk.View, f sdk.Fill) sdk.Intents {
	w.fills++
	if q, _ := f.Quantity.Float64(); q > 1 {
		v.Warn("large", "fill", f.ID, "quantity", q)
	}
	return nil
}

func (w *wild) OnCandle(v sdk.View) (sdk.Intents, error) {
	r := v.Rand()
	var all sdk.Intents
	for _, symbol := range v.Symbols() {
		one := v.For(symbol)
		if !one.Closed() || r.Float64() > w.p.Rate {
			continue
		}
		open := one.OpenOrders()
		switch n := r.IntN(12 + w.fills%3); {
		case n == 0 && len(open) > 0:
			all = all.And(sdk.Cancel(open[r.IntN(len(open))].ID.String()))
		case n == 1 || len(open) > 20:
			all = all.And(sdk.CancelAll().On(symbol))
		case n == 2 && len(open) > 0:
			price, _ := open[0].LimitPrice.Float64()
			all = all.And(sdk.Replace(open[0].ID.String()).Limit(price * (0.99 + 0.02*r.Float64())))
		case n == 3:
			all = all.And(sdk.ClosePosition().On(symbol))
		default:
			all = all.And(w.order(one, r).On(symbol))
		}
	}
	v.Publish("fills", float64(w.fills))
	return all, nil
}

func (w *wild) order(v sdk.SymbolView, r *rand.Rand) sdk.Intents {
	price := v.Candle().Close
	near := func() float64 { return price * (0.97 + 0.06*r.Float64()) }
	sizes := []sdk.Size{sdk.CashFraction(r.Float64() * 1.1), sdk.Quantity(r.Float64() * 3),
		sdk.QuoteAmount(500 * r.Float64()), sdk.Quantity(-1), sdk.WholePosition()}
	in := sdk.Buy(sizes[r.IntN(len(sizes))])
	if v.Long() || (w.p.Short && r.IntN(3) == 0) {
		in = sdk.Sell(sizes[r.IntN(len(sizes))])
	}
	kind := r.IntN(6)
	if w.p.Style == "limits" {
		kind = 1
	}
	switch kind {
	case 1:
		in = in.Limit(near())
	case 2:
		in = in.Stop(near())
	case 3:
		in = in.Stop(near()).Limit(near())
	case 4:
		in = in.TrailPercent(0.05 * r.Float64())
	case 5:
		in = in.TrailAmount(20 * r.Float64())
	}
	levels := []sdk.Level{sdk.At(near()), sdk.Percent(0.05 * r.Float64()), sdk.TrailingPercent(0.03),
		sdk.TrailingAmount(7), sdk.Tighten(sdk.Percent(0.04), 0.01, 0.02*r.Float64())}
	if r.IntN(2) == 0 {
		in = in.StopLoss(levels[r.IntN(5)]).TakeProfit(levels[r.IntN(2)])
	}
	switch r.IntN(4) {
	case 0:
		in = in.ExpireAfter(r.IntN(6))
	case 1:
		in = in.ImmediateOrCancel()
	}
	return in.Tag("größe").Ref("r")
}

// badVariable names the bad strategy that TestBadStrategy is to run.
const badVariable = "SDKTEST_BAD_STRATEGY"

type badParams struct {
	N int `param:"n" default:"1" min:"0" max:"10"`
}

type badStrategy func(sdk.View) (sdk.Intents, error)

func (b badStrategy) OnCandle(v sdk.View) (sdk.Intents, error) { return b(v) }

func TestBadStrategy(t *testing.T) {
	buy := func(yes bool) (sdk.Intents, error) {
		if yes {
			return sdk.Buy(sdk.CashFraction(0.01)), nil
		}
		return nil, nil
	}
	var s badStrategy
	var construct func(badParams) (sdk.Strategy, error)
	switch os.Getenv(badVariable) {
	case "":
		t.Skip("is run by TestConformanceFindsBadStrategies")
	case "clock":
		s = func(v sdk.View) (sdk.Intents, error) { return buy(time.Now().UnixNano()%3 == 0) }
	case "global":
		s = func(v sdk.View) (sdk.Intents, error) { return buy(rand.IntN(3) == 0) }
	case "panics", "replay":
		s = func(v sdk.View) (sdk.Intents, error) {
			if v.Index() == 1000 {
				panic("on purpose")
			}
			return nil, nil
		}
	case "nan":
		s = func(v sdk.View) (sdk.Intents, error) { return sdk.Buy(sdk.Quantity(math.NaN())), nil }
	case "leaks":
		s = func(v sdk.View) (sdk.Intents, error) {
			if v.Index() == 0 {
				go func() { select {} }()
			}
			return nil, nil
		}
	case "default":
		construct = func(badParams) (sdk.Strategy, error) {
			return nil, sdk.InvalidParam("n", "is never right")
		}
	}
	if os.Getenv(badVariable) == "replay" {
		sdktest.Backtest(t, s, sdktest.Synth(1, 2000, start, time.Hour))
	}
	if construct == nil {
		construct = func(badParams) (sdk.Strategy, error) { return s, nil }
	}
	sdktest.Conformance(t, sdk.Spec{Name: "bad"}, construct)
}
