package main

import (
	"cmp"
	"slices"

	sdk "github.com/assay-run/assay/plugin-sdk"
)

func spec() sdk.Spec {
	return sdk.Spec{
		Name: "momentum", DisplayName: "Cross-sectional momentum", Version: "1.0.0", Author: "Assay",
		Description: "Ranks its symbols by their return over the last candles at the end of each week, and " +
			"holds the best of them, where they have risen, in equal shares of the equity.",
		MinSymbols: 2, MaxSymbols: 100, Extra: sdk.Timeframes("1w"),
		Supports: sdk.Supports{MultiSymbol: true, ScaleFree: true, Calendar: sdk.CalendarWeekday},
		Plots: []sdk.Plot{
			{Series: "held", Title: "Least gain held", Pane: "Gain", Color: sdk.ColorAccent},
			{Series: "best", Title: "Best gain", Pane: "Gain", Color: sdk.ColorMuted},
			{Series: "gain", Title: "Gain of the symbol", Pane: "Gain"},
		},
	}
}

type params struct {
	Candles int     `param:"candles" default:"60" min:"2" max:"1000" unit:"candles" title:"Look-back" doc:"Candles over which returns are compared"`
	Best    int     `param:"best" default:"1" min:"1" max:"100" unit:"symbols" title:"Best" doc:"How many of the symbols to hold"`
	Invest  float64 `param:"invest" default:"0.95" above:"0" max:"1" search:"off" title:"Invested" doc:"Share of the equity to invest; the rest pays fees"`
}

type momentum struct{ params }

func newMomentum(p params) (sdk.Strategy, error) { return &momentum{p}, nil }

func (s *momentum) Lookback() sdk.Lookback { return sdk.Lookback{"": s.Candles + 1, "1w": 1} }

func (s *momentum) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Warmup() || !v.At("1w").Closed() {
		return nil, nil
	}
	gain := func(of sdk.Symbol) float64 { return v.For(of).Close(0)/v.For(of).Close(s.Candles) - 1 }
	ranked := slices.Clone(v.Symbols())
	slices.SortStableFunc(ranked, func(a, b sdk.Symbol) int { return cmp.Compare(gain(b), gain(a)) })
	v.Publish("best", gain(ranked[0]))

	var targets sdk.Intents
	for i, symbol := range ranked {
		v.For(symbol).Publish("gain", gain(symbol))
		share := 0.0
		if i < s.Best && gain(symbol) > 0 {
			share = s.Invest / float64(s.Best)
			v.Publish("held", gain(symbol))
		}
		targets = targets.And(sdk.Target(share).On(symbol))
	}
	return targets, nil
}
