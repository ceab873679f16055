package main

import (
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
)

func spec() sdk.Spec {
	return sdk.Spec{
		Name: "pairs", DisplayName: "Pairs", Version: "1.0.0", Author: "Assay",
		Description: "When the ratio of two prices is far from its mean, sells the dear symbol short and " +
			"buys the other for as much; closes both when it is near. Needs allow_short.",
		MinSymbols: 2, MaxSymbols: 2,
		Supports: sdk.Supports{Short: true, MultiSymbol: true, ScaleFree: true},
		Plots: []sdk.Plot{{Series: "z", Title: "Z-score of the ratio", Pane: "spread", Color: sdk.ColorAccent,
			Levels: []sdk.PlotLevel{{Param: "enter", Title: "enter"}, {Param: "leave", Title: "leave"}}}},
	}
}

type params struct {
	Window   int     `param:"window" default:"72" min:"2" max:"5000" unit:"candles" title:"Window" doc:"Candles in the mean and deviation of the ratio"`
	Enter    float64 `param:"enter" default:"2" above:"0" max:"10" title:"Enter" doc:"Deviations from the mean at which the pair is opened"`
	Leave    float64 `param:"leave" default:"0.5" min:"0" max:"10" title:"Leave" doc:"Deviations at which it is closed; must be less"`
	Fraction float64 `param:"equity_fraction" default:"0.8" above:"0" max:"1" search:"off" title:"Equity fraction" doc:"Share of the equity in both legs together"`
}

type pairs struct {
	params
	score indicator.ZScore
}

func newPairs(p params) (sdk.Strategy, error) {
	if p.Leave >= p.Enter {
		return nil, sdk.InvalidParam("leave", "must be below enter")
	}
	return &pairs{p, indicator.NewZScore(p.Window)}, nil
}

func (s *pairs) Warmup() int { return s.Window }

func (s *pairs) OnCandle(v sdk.View) (sdk.Intents, error) {
	one, two := v.For(v.Symbols()[0]), v.For(v.Symbols()[1])
	if !one.Closed() || !two.Closed() {
		return nil, nil
	}
	s.score.Add(one.Candle().Close / two.Candle().Close)
	z, leg := s.score.Value(), sdk.EquityFraction(s.Fraction/2)
	v.Publish("z", z)
	flat := one.Flat() && two.Flat()
	switch {
	case v.Warmup() || !s.score.Ready():
	case flat && z > s.Enter:
		return sdk.Sell(leg).On(one.Symbol()).And(sdk.Buy(leg).On(two.Symbol())), nil
	case flat && z < -s.Enter:
		return sdk.Buy(leg).On(one.Symbol()).And(sdk.Sell(leg).On(two.Symbol())), nil
	case flat:
	case one.Flat() || two.Flat(), one.Short() && z < s.Leave, one.Long() && z > -s.Leave:
		return sdk.ClosePosition().On(one.Symbol()).And(sdk.ClosePosition().On(two.Symbol())), nil
	}
	return nil, nil
}
