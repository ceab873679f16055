package main

import sdk "github.com/assay-run/assay/plugin-sdk"

func spec() sdk.Spec {
	return sdk.Spec{
		Name: "grid", DisplayName: "Grid with scale-out", Version: "1.0.0", Author: "Assay",
		Description: "When flat and without bids, bids for some candles at evenly spaced levels below the " +
			"close. A part of each fill is sold one step higher, the rest two; all of it below the lowest " +
			"level.",
		Supports: sdk.Supports{ScaleFree: true},
		Plots: []sdk.Plot{
			{Series: "lowest", Upper: "highest", Title: "Bids", Kind: sdk.PlotBand, Color: sdk.ColorAccent},
			{Series: "stop", Title: "Stop loss", Color: sdk.ColorWarn},
		},
	}
}

type params struct {
	Levels   int     `param:"levels" default:"4" min:"1" max:"10" title:"Levels" doc:"Bids below the close"`
	Step     float64 `param:"step" default:"0.01" above:"0" max:"0.04" search:"log,0.001..0.04" title:"Step" doc:"Distance from one level to the next, as a fraction of the close"`
	Share    float64 `param:"share" default:"0.5" above:"0" below:"1" title:"First share" doc:"Share of a fill that is sold one step higher"`
	Life     int     `param:"life" default:"24" min:"1" max:"10000" unit:"candles" title:"Life" doc:"Candles that the bids live for"`
	Fraction float64 `param:"equity_fraction" default:"0.8" above:"0" max:"1" search:"off" title:"Equity fraction" doc:"Share of the equity to buy for at all levels together"`
}

type grid struct {
	params
	center float64
}

func newGrid(p params) (sdk.Strategy, error) { return &grid{params: p}, nil }

// level is so many steps below the close at which the grid was laid.
func (s *grid) level(n int) float64 { return s.center * (1 - float64(n)*s.Step) }

func (s *grid) OnCandle(v sdk.View) (orders sdk.Intents, err error) {
	if v.Flat() && !v.Warmup() && len(v.OpenOrders()) == 0 {
		s.center = v.Candle().Close
		size := sdk.EquityFraction(s.Fraction / float64(s.Levels))
		for n := 1; n <= s.Levels; n++ {
			orders = orders.And(sdk.Buy(size).Limit(s.level(n)).ExpireAfter(s.Life).
				StopLoss(sdk.At(s.level(s.Levels+1))).
				TakePart(s.Share, sdk.At(s.level(n-1))).TakePart(1-s.Share, sdk.At(s.level(n-2))))
		}
	}
	if s.center > 0 {
		v.Publish("highest", s.level(1))
		v.Publish("lowest", s.level(s.Levels))
		v.Publish("stop", s.level(s.Levels+1))
	}
	return orders, nil
}
