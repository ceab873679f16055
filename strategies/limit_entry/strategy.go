package main

import (
	"math"

	sdk "github.com/assay-run/assay/plugin-sdk"
)

// The quantity depends on the price level, so the strategy does not claim to be
// scale-free.
func spec() sdk.Spec {
	return sdk.Spec{
		Name: "limit_entry", DisplayName: "Limit entry", Version: "1.0.0", Author: "Assay",
		Description: "Every few candles, when flat and without a working order, places a limit buy below " +
			"the close that lives for a few candles and carries a stop loss and a take profit.",
		Plots: []sdk.Plot{{Series: "limit", Title: "Limit of the order", Kind: sdk.PlotMarker,
			Color: sdk.ColorAccent}},
	}
}

type params struct {
	Every      int64   `param:"every" default:"5" min:"1" max:"10000" unit:"candles" title:"Every" doc:"Candles from one chance to place an order to the next"`
	Offset     float64 `param:"offset" default:"0.01" above:"0" max:"0.5" search:"log,0.0001..0.5" title:"Offset" doc:"Distance of the limit below the close, as a fraction"`
	TakeProfit float64 `param:"take_profit" default:"0.02" above:"0" max:"10" search:"log,0.001..10" title:"Take profit" doc:"Distance of the target above the limit, as a fraction"`
	StopLoss   float64 `param:"stop_loss" default:"0.03" above:"0" max:"0.9" search:"log,0.001..0.9" title:"Stop loss" doc:"Distance of the stop below the limit, as a fraction"`
	TTL        int     `param:"ttl" default:"3" min:"1" max:"10000" unit:"candles" title:"Time to live" doc:"Candles that the order lives for"`
	Fraction   float64 `param:"equity_fraction" default:"0.5" above:"0" max:"1" search:"off" title:"Equity fraction" doc:"Share of the equity to buy for"`
}

// limitEntry counts the candles of the window itself: View.Index counts those of the
// warm-up, too, and how much history there is must not move the orders.
type limitEntry struct {
	params
	seen int64
}

func newLimitEntry(p params) (sdk.Strategy, error) { return &limitEntry{params: p}, nil }

func (s *limitEntry) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Warmup() {
		return nil, nil
	}
	i := s.seen
	s.seen++
	if i < 1 || i%s.Every != 0 || !v.Flat() || len(v.OpenOrders()) > 0 {
		return nil, nil
	}
	price, step := v.Candle().Close, v.QuantityStep()
	quantity := math.Floor(s.Fraction*v.Equity()/price/step) * step
	if quantity <= 0 {
		return nil, nil
	}
	limit := price * (1 - s.Offset)
	v.Publish("limit", limit)
	stop, target := sdk.At(limit*(1-s.StopLoss)), sdk.At(limit*(1+s.TakeProfit))
	return sdk.Buy(sdk.Quantity(quantity)).Limit(limit).ExpireAfter(s.TTL).StopLoss(stop).TakeProfit(target),
		nil
}
