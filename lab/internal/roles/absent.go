package main

import (
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/serve"
)

// absent are strategies whose numbers hide that something is wrong: one never trades, one
// sits in its first position, one warms up for most of its window. Talker says what it does.
func absent() map[string]func() {
	play := func(name string, warmup int, act func(sdk.View) sdk.Intents) func() {
		return func() {
			made := func(noParams) (sdk.Strategy, error) { return quiet{warmup, act}, nil }
			serve.Strategy(sdk.Spec{Name: name}, made)
		}
	}
	turn := func(v sdk.View) sdk.Intents {
		switch {
		case v.Index()%10 != 0:
			return nil
		case v.Flat():
			return sdk.Buy(sdk.CashFraction(0.5))
		}
		return sdk.ClosePosition()
	}
	return map[string]func(){
		"idle": play("idle", 0, func(sdk.View) sdk.Intents { return nil }),
		"sitter": play("sitter", 0, func(v sdk.View) sdk.Intents {
			if v.Flat() {
				return sdk.Buy(sdk.CashFraction(0.5))
			}
			return nil
		}),
		"latecomer": play("latecomer", 600, turn),
		"talker": play("talker", 0, func(v sdk.View) sdk.Intents {
			if v.Index() == 20 {
				v.Log("signal", "price", v.Candle().Close, "at", "\x1b[2J", "alone")
			}
			return turn(v)
		}),
	}
}

type quiet struct {
	warmup int
	act    func(sdk.View) sdk.Intents
}

func (q quiet) Warmup() int { return q.warmup }

func (q quiet) OnCandle(v sdk.View) (sdk.Intents, error) { return q.act(v), nil }
