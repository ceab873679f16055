package main

import (
	"slices"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
)

func spec() sdk.Spec {
	return sdk.Spec{
		Name: "daily_trend", DisplayName: "Daily trend", Version: "1.0.0", Author: "Assay",
		Description: "Buys when a candle closes above the highest high of the last ones while the last day " +
			"closed above its average, and sells when one closes below their lowest low.",
		Extra:    sdk.Timeframes("1d"),
		Supports: sdk.Supports{ScaleFree: true},
		Plots: []sdk.Plot{
			{Series: "low", Upper: "high", Title: "Channel", Kind: sdk.PlotBand, Color: sdk.ColorAccent},
			{Series: "average", Title: "Average of days", Color: sdk.ColorMuted},
		},
	}
}

type params struct {
	Candles  int     `param:"candles" default:"24" min:"2" max:"240" unit:"candles" title:"Channel" doc:"Candles whose highest high and lowest low are the channel"`
	Days     int     `param:"days" default:"20" min:"2" max:"200" unit:"days" title:"Days" doc:"Days in the average"`
	Fraction float64 `param:"cash_fraction" default:"0.5" above:"0" max:"1" search:"off" title:"Cash fraction" doc:"Share of the cash to buy for"`
	StopLoss float64 `param:"stop_loss" default:"0.05" above:"0" below:"1" title:"Stop loss" doc:"Fraction below the entry price"`
}

type dailyTrend struct {
	params
	average indicator.SMA
}

func newDailyTrend(p params) (sdk.Strategy, error) {
	return &dailyTrend{p, indicator.NewSMA(p.Days)}, nil
}

func (s *dailyTrend) Lookback() sdk.Lookback { return sdk.Lookback{"": s.Candles + 1, "1d": s.Days} }

func (s *dailyTrend) OnCandle(v sdk.View) (sdk.Intents, error) {
	day := v.At("1d")
	if day.Closed() {
		s.average.Add(day.Close(0))
	}
	if v.Warmup() {
		return nil, nil
	}
	channel := v.History(s.Candles + 1)
	high, low := slices.Max(channel.Highs()[:s.Candles]), slices.Min(channel.Lows()[:s.Candles])
	v.Publish("high", high)
	v.Publish("low", low)
	v.Publish("average", s.average.Value())
	switch {
	case v.Flat() && day.Close(0) > s.average.Value() && v.Close(0) > high:
		return sdk.Buy(sdk.CashFraction(s.Fraction)).StopLoss(sdk.Percent(s.StopLoss)), nil
	case v.Long() && v.Close(0) < low:
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}
