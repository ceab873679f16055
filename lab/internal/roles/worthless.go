package main

import (
	"math/rand/v2"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/serve"
)

// middle is between the two closes of the stairs, one kind of the tests' candles.
const middle = 400.0

// worthless are the plugins that fool nobody but their author: B-17 to B-20.
func worthless() map[string]func() {
	return map[string]func(){
		"idle":   func() { serve.Strategy(sdk.Spec{Name: "idle"}, newIdle) },
		"noise":  func() { serve.Strategy(sdk.Spec{Name: "noise"}, newNoise) },
		"holder": func() { serve.Strategy(sdk.Spec{Name: "holder"}, newHolder) },
		"thin":   func() { serve.Strategy(sdk.Spec{Name: "thin"}, newThin) },
	}
}

// idle never trades.
type idle struct{}

func newIdle(noParams) (sdk.Strategy, error) { return idle{}, nil }

func (idle) OnCandle(sdk.View) (sdk.Intents, error) { return nil, nil }

type noiseParams struct {
	Salt int `param:"salt" default:"0" min:"0" max:"1000000" doc:"Which of the coins is thrown"`
}

// noise holds or does not hold by a hash of the time.
type noise struct{ salt int }

func newNoise(p noiseParams) (sdk.Strategy, error) { return noise{p.Salt}, nil }

func (n noise) OnCandle(v sdk.View) (sdk.Intents, error) {
	coin := rand.NewPCG(uint64(v.Time().UnixMilli()), uint64(n.salt))
	switch heads := coin.Uint64()>>63 == 0; {
	case heads && v.Flat():
		return sdk.Buy(sdk.CashFraction(0.9)), nil
	case !heads && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

// holder buys once and holds.
type holder struct{}

func newHolder(noParams) (sdk.Strategy, error) { return holder{}, nil }

func (holder) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Flat() {
		return sdk.Buy(sdk.AllCash()), nil
	}
	return nil, nil
}

// thin takes two of four hundred on every move of the market that candles stairs makes.
type thin struct{}

func newThin(noParams) (sdk.Strategy, error) { return thin{}, nil }

func (thin) OnCandle(v sdk.View) (sdk.Intents, error) {
	switch low := v.Candle().Close < middle; {
	case low && v.Flat():
		return sdk.Buy(sdk.Quantity(1)), nil
	case !low && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}
