package main

import (
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
)

func spec() sdk.Spec {
	return sdk.Spec{
		Name: "inverse_volatility", DisplayName: "Inverse volatility", Version: "1.0.0", Author: "Assay",
		Description: "Holds all of its symbols. At the end of each week the share of each becomes the " +
			"inverse of its volatility, so that a calm one weighs more than a wild one.",
		MinSymbols: 2, MaxSymbols: 100, Extra: sdk.Timeframes("1w"),
		Supports: sdk.Supports{MultiSymbol: true, ScaleFree: true, Calendar: sdk.CalendarWeekday},
		Plots: []sdk.Plot{
			{Series: "largest", Title: "Largest share", Pane: "Share", Color: sdk.ColorAccent},
			{Series: "smallest", Title: "Smallest share", Pane: "Share", Color: sdk.ColorMuted},
			{Series: "share", Title: "Share of the symbol", Pane: "Share"},
		},
	}
}

type params struct {
	Candles int     `param:"candles" default:"30" min:"2" max:"1000" unit:"candles" title:"Look-back" doc:"Returns that a volatility is of"`
	Invest  float64 `param:"invest" default:"0.95" above:"0" max:"1" search:"off" title:"Invested" doc:"Share of the equity to invest; the rest pays fees"`
}

type inverseVolatility struct{ params }

func newInverseVolatility(p params) (sdk.Strategy, error) { return &inverseVolatility{p}, nil }

func (s *inverseVolatility) Lookback() sdk.Lookback {
	return sdk.Lookback{"": s.Candles + 1, "1w": 1}
}

func (s *inverseVolatility) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Warmup() || !v.At("1w").Closed() {
		return nil, nil
	}
	calm, total := make([]float64, len(v.Symbols())), 0.0
	for i, symbol := range v.Symbols() {
		volatility := indicator.NewRealizedVolatility(s.Candles, 1)
		for _, price := range v.For(symbol).History(s.Candles + 1).Closes() {
			volatility.Add(price)
		}
		if volatility.Value() > 0 { // it has enough candles, and moves
			calm[i] = 1 / volatility.Value()
		}
		total += calm[i]
	}

	var targets sdk.Intents
	largest, smallest := 0.0, 1.0
	for i, symbol := range v.Symbols() {
		share := 0.0
		if calm[i] > 0 {
			share = s.Invest * calm[i] / total
		}
		v.For(symbol).Publish("share", share)
		largest, smallest = max(largest, share), min(smallest, share)
		targets = targets.And(sdk.Target(share).On(symbol))
	}
	v.Publish("largest", largest)
	v.Publish("smallest", smallest)
	return targets, nil
}
