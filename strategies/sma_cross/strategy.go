package main

import (
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
)

func spec() sdk.Spec {
	return sdk.Spec{
		Name: "sma_cross", DisplayName: "Moving average crossover", Version: "1.0.0", Author: "Assay",
		Description: "Buys with all cash (or a fixed stake) when a fast simple moving average of the " +
			"close crosses above a slow one, and sells everything when it crosses below.",
		Supports: sdk.Supports{ScaleFree: true},
		Plots: []sdk.Plot{
			{Series: "fast", Title: "Fast average", Color: sdk.ColorAccent},
			{Series: "slow", Title: "Slow average", Color: sdk.ColorWarn},
		},
	}
}

type params struct {
	Fast  int     `param:"fast" default:"10" min:"1" max:"500" unit:"candles" title:"Fast average" doc:"Candles in the fast average"`
	Slow  int     `param:"slow" default:"30" min:"2" max:"1000" unit:"candles" title:"Slow average" doc:"Candles in the slow average; must be more than in the fast one"`
	Stake float64 `param:"stake" default:"0" min:"0" max:"1e12" unit:"quote" title:"Stake" search:"off" doc:"Quote currency to spend on each entry, fee included; 0 spends all cash"`
}

type smaCross struct {
	fast, slow indicator.SMA
	warmup     int
	size       sdk.Size
}

func newSMACross(p params) (sdk.Strategy, error) {
	if p.Fast >= p.Slow {
		return nil, sdk.InvalidParam("fast", "must be below slow")
	}
	size := sdk.AllCash()
	if p.Stake > 0 {
		size = sdk.QuoteAmount(p.Stake)
	}
	return &smaCross{fast: indicator.NewSMA(p.Fast), slow: indicator.NewSMA(p.Slow), warmup: p.Slow,
		size: size}, nil
}

func (s *smaCross) Warmup() int { return s.warmup }

func (s *smaCross) OnCandle(v sdk.View) (sdk.Intents, error) {
	c := v.Candle()
	s.fast.Add(c.Close)
	s.slow.Add(c.Close)
	if s.slow.Ready() {
		v.Publish("fast", s.fast.Value())
		v.Publish("slow", s.slow.Value())
	}
	switch {
	case v.Flat() && s.fast.CrossedAbove(&s.slow):
		return sdk.Buy(s.size), nil
	case v.Long() && s.fast.CrossedBelow(&s.slow):
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}
