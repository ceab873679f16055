package serve_test

import (
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/serve"
)

type params struct {
	Fast int `param:"fast" default:"10" min:"1" max:"500" doc:"Candles in the fast average"`
	Slow int `param:"slow" default:"30" min:"2" max:"1000" doc:"Candles in the slow average"`
}

type smaCross struct{ fast, slow indicator.SMA }

func newSMACross(p params) (sdk.Strategy, error) {
	if p.Fast >= p.Slow {
		return nil, sdk.InvalidParam("fast", "must be below slow")
	}
	return &smaCross{indicator.NewSMA(p.Fast), indicator.NewSMA(p.Slow)}, nil
}

func (s *smaCross) OnCandle(v sdk.View) (sdk.Intents, error) {
	c := v.Candle()
	s.fast.Add(c.Close)
	s.slow.Add(c.Close)
	switch {
	case v.Flat() && s.fast.CrossedAbove(&s.slow):
		return sdk.Buy(sdk.AllCash()), nil
	case v.Long() && s.fast.CrossedBelow(&s.slow):
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

// A whole plugin. The example's function is the main of the program.
func Example() {
	serve.Strategy(sdk.Spec{Name: "sma_cross", Version: "1.0.0", Description: "..."}, newSMACross)
}
