package main

import (
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func spec() sdk.Spec {
	return sdk.Spec{
		Name: "rsi_tema", DisplayName: "RSI and TEMA", Version: "1.0.0", Author: "Assay",
		Description: "The rules of freqtrade's SampleStrategy, long only: buys when the RSI leaves the " +
			"oversold side while the TEMA rises below the Bollinger middle, sells at the opposite. The " +
			"target falls the longer a position is held; the stop loss does not move.",
		Supports: sdk.Supports{ScaleFree: true},
		Plots: []sdk.Plot{
			{Series: "tema", Title: "TEMA", Color: sdk.ColorAccent},
			{Series: "middle", Title: "Bollinger middle", Color: sdk.ColorMuted},
			{Series: "rsi", Title: "RSI", Pane: "RSI", Levels: []sdk.PlotLevel{
				{Param: "buy_rsi", Title: "buy"}, {Param: "sell_rsi", Title: "sell"},
			}},
		},
	}
}

type params struct {
	Buy      float64 `param:"buy_rsi" default:"30" min:"1" max:"50" title:"Buy" doc:"Value of the index that a purchase crosses upwards"`
	Sell     float64 `param:"sell_rsi" default:"70" min:"50" max:"100" title:"Sell" doc:"Value of the index that a sale crosses upwards"`
	StopLoss float64 `param:"stop_loss" default:"0.1" above:"0" max:"0.9" title:"Stop loss" doc:"Fraction below the entry price"`
}

type rsiTEMA struct {
	params
	rsi  indicator.RSI
	tema indicator.TEMA
	band indicator.Bollinger
}

func newRSITEMA(p params) (sdk.Strategy, error) {
	return &rsiTEMA{p, indicator.NewRSI(14), indicator.NewTEMA(9), indicator.NewBollinger(20, 2)}, nil
}

func (s *rsiTEMA) Warmup() int { return 200 }

// wanted is the gain at which a position is sold that has been held so long.
func wanted(held time.Duration) float64 {
	switch {
	case held >= 60*time.Minute:
		return 0.01
	case held >= 30*time.Minute:
		return 0.02
	}
	return 0.04
}

func (s *rsiTEMA) OnCandle(v sdk.View) (sdk.Intents, error) {
	c := v.Candle()
	s.rsi.Add(c.Close)
	s.tema.Add(c.Close)
	s.band.Add((c.High + c.Low + c.Close) / 3)
	tema, middle, before := s.tema.Value(), s.band.Middle(), s.tema.Previous()
	v.Publish("rsi", s.rsi.Value())
	v.Publish("tema", tema)
	v.Publish("middle", middle)
	switch {
	case v.Warmup() || c.Volume == 0:
	case v.Flat() && s.rsi.CrossedAboveLevel(s.Buy) && tema <= middle && tema > before:
		stop, target := sdk.Percent(s.StopLoss), sdk.Percent(wanted(0))
		return sdk.Buy(sdk.AllCash()).StopLoss(stop).TakeProfit(target), nil
	case v.Long() && s.rsi.CrossedAboveLevel(s.Sell) && tema > middle && tema < before:
		return sdk.ClosePosition(), nil
	}
	return s.lowerTarget(v), nil
}

// lowerTarget moves the target to what the next candle is held for.
func (s *rsiTEMA) lowerTarget(v sdk.View) sdk.Intents {
	candle, position := v.Timeframe().Approx(), v.Position()
	held := time.Duration(position.CandlesHeld) * candle
	if gain := wanted(held + candle); v.Long() && gain != wanted(held) {
		for _, o := range v.OpenOrders() {
			if o.Role == market.RoleTakeProfit {
				return sdk.Replace(o.ID.String()).Limit(position.EntryPrice * (1 + gain))
			}
		}
	}
	return nil
}
