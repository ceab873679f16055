package main

import sdk "github.com/assay-run/assay/plugin-sdk"

func spec() sdk.Spec {
	return sdk.Spec{
		Name: "buy_hold", DisplayName: "Buy and hold", Version: "1.0.0", Author: "Assay",
		Description: "Buys once with all cash and never sells: the yardstick for every other strategy.",
		Supports:    sdk.Supports{ScaleFree: true},
	}
}

type params struct {
	StartCandle int64 `param:"start_candle" default:"1" min:"0" max:"100000" unit:"candles" title:"Start candle" search:"off" doc:"Candle, counted from 0, at whose close the order is placed"`
}

// buyHold counts the candles of the window itself: View.Index counts those of the
// warm-up, too, and how much history there is must not move the order.
type buyHold struct{ start, seen int64 }

func newBuyHold(p params) (sdk.Strategy, error) { return &buyHold{start: p.StartCandle}, nil }

func (s *buyHold) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Warmup() {
		return nil, nil
	}
	candle := s.seen
	s.seen++
	if candle == s.start {
		return sdk.Buy(sdk.AllCash()), nil
	}
	return nil, nil
}
