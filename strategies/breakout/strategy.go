package main

import (
	"math"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
)

// The quantity depends on the price level, so the strategy does not claim to be
// scale-free.
func spec() sdk.Spec {
	return sdk.Spec{
		Name: "breakout", DisplayName: "Breakout", Version: "1.0.0", Author: "Assay",
		Description: "Keeps a stop buy at the highest high of the last candles, moved at every close, and " +
			"sells a fixed number of candles after the entry.",
		Plots: []sdk.Plot{{Series: "entry", Title: "Highest high", Color: sdk.ColorAccent}},
	}
}

type params struct {
	Lookback int     `param:"lookback" default:"20" min:"1" max:"5000" unit:"candles" title:"Lookback" doc:"Candles whose highest high is the entry price"`
	Hold     int64   `param:"hold" default:"10" min:"1" max:"100000" unit:"candles" title:"Hold" doc:"Candles after the entry at whose close the position is sold"`
	Fraction float64 `param:"equity_fraction" default:"0.5" above:"0" max:"1" search:"off" title:"Equity fraction" doc:"Share of the equity to buy for"`
}

// entry is the reference of the one order that may be working.
const entry = "entry"

type breakout struct {
	params
	highest indicator.Highest
}

func newBreakout(p params) (sdk.Strategy, error) {
	return &breakout{p, indicator.NewHighest(p.Lookback)}, nil
}

func (s *breakout) Warmup() int { return s.Lookback }

func (s *breakout) OnCandle(v sdk.View) (sdk.Intents, error) {
	c, step := v.Candle(), v.QuantityStep()
	s.highest.Add(c.High)
	if v.Index() >= int64(s.Lookback) {
		v.Publish("entry", s.highest.Value())
	}
	switch {
	case v.Index() < int64(s.Lookback):
		return nil, nil
	case v.Long() && v.Position().CandlesHeld >= s.Hold:
		return sdk.ClosePosition(), nil
	case !v.Flat():
		return nil, nil
	}
	var intents sdk.Intents
	if len(v.OpenOrders()) > 0 {
		intents = sdk.Cancel(entry)
	}
	if quantity := math.Floor(s.Fraction*v.Equity()/c.Close/step) * step; quantity > 0 {
		intents = intents.And(sdk.Buy(sdk.Quantity(quantity)).Stop(s.highest.Value()).Ref(entry))
	}
	return intents, nil
}
