package main

import (
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
)

func spec() sdk.Spec {
	return sdk.Spec{
		Name: "rsi_bracket", DisplayName: "RSI with bracket", Version: "1.0.0", Author: "Assay",
		Description: "Buys with all cash when Wilder's relative strength index of the close is oversold, " +
			"protected by a stop loss and a take profit measured from the close of the signal, and sells " +
			"when it is overbought.",
		Supports: sdk.Supports{ScaleFree: true},
		Plots: []sdk.Plot{{Series: "rsi", Title: "RSI", Pane: "RSI", Levels: []sdk.PlotLevel{
			{Param: "oversold", Title: "oversold"}, {Param: "overbought", Title: "overbought"},
		}}},
	}
}

type params struct {
	Period     int     `param:"period" default:"14" min:"2" max:"500" unit:"candles" title:"Period" doc:"Changes in the first average of the index"`
	Oversold   float64 `param:"oversold" default:"30" min:"0" max:"100" title:"Oversold" doc:"Buy below this value of the index; must be below overbought"`
	Overbought float64 `param:"overbought" default:"70" min:"0" max:"100" title:"Overbought" doc:"Sell above this value of the index"`
	StopLoss   float64 `param:"stop_loss" default:"0.02" above:"0" max:"0.9" search:"log,0.001..0.9" title:"Stop loss" doc:"Distance of the stop below the close of the signal, as a fraction"`
	TakeProfit float64 `param:"take_profit" default:"0.04" above:"0" max:"10" search:"log,0.001..10" title:"Take profit" doc:"Distance of the target above the close of the signal, as a fraction"`
}

type rsiBracket struct {
	params
	rsi indicator.RSI
}

func newRSIBracket(p params) (sdk.Strategy, error) {
	if p.Oversold >= p.Overbought {
		return nil, sdk.InvalidParam("oversold", "must be below overbought")
	}
	return &rsiBracket{p, indicator.NewRSI(p.Period)}, nil
}

func (s *rsiBracket) Warmup() int { return s.Period + 1 }

func (s *rsiBracket) OnCandle(v sdk.View) (sdk.Intents, error) {
	c := v.Candle()
	s.rsi.Add(c.Close)
	if s.rsi.Count() < 2 { // ready on the candle before
		return nil, nil
	}
	v.Publish("rsi", s.rsi.Value())
	switch {
	case v.Flat() && s.rsi.Value() < s.Oversold:
		stop, target := sdk.At(c.Close*(1-s.StopLoss)), sdk.At(c.Close*(1+s.TakeProfit))
		return sdk.Buy(sdk.AllCash()).StopLoss(stop).TakeProfit(target), nil
	case v.Long() && s.rsi.Value() > s.Overbought:
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}
