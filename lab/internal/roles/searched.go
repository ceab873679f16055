package main

import (
	"errors"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/serve"
)

// searched are the plugins of the families: choosy has a choice and a bool among its
// parameters, fails where it is told to and refuses a period of its own.
func searched() map[string]func() {
	return map[string]func(){
		"choosy": func() { serve.Strategy(sdk.Spec{Name: "choosy"}, newChoosy) },
	}
}

type choosyParams struct {
	Mode   string `param:"mode" default:"follow" enum:"follow,fade,fail" doc:"What a cross means"`
	Calm   bool   `param:"calm" default:"false" doc:"Trade every other cross only"`
	Period int    `param:"period" default:"10" min:"2" max:"500" doc:"Candles in the average"`
}

type choosy struct {
	choosyParams
	mean indicator.SMA
	last float64
	n    int
}

func newChoosy(p choosyParams) (sdk.Strategy, error) {
	if p.Period == 13 {
		return nil, sdk.InvalidParam("period", "must not be 13")
	}
	return &choosy{choosyParams: p, mean: indicator.NewSMA(p.Period)}, nil
}

func (s *choosy) Warmup() int { return s.Period }

func (s *choosy) OnCandle(v sdk.View) (sdk.Intents, error) {
	if s.Mode == "fail" && v.Index() > 40 {
		return nil, errors.New("told to fail")
	}
	c := v.Candle().Close
	s.mean.Add(c)
	above, was := c > s.mean.Value(), s.last
	s.last = c - s.mean.Value()
	if above == (was > 0) {
		return nil, nil
	}
	if s.n++; s.Calm && s.n%2 == 0 {
		return nil, nil
	}
	switch want := above == (s.Mode == "follow"); {
	case want && v.Flat():
		return sdk.Buy(sdk.CashFraction(0.5)), nil
	case !want && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

func tideSpec() sdk.Spec {
	return sdk.Spec{Name: "tide", Version: "1.0.0", Supports: sdk.Supports{ScaleFree: true}}
}

type tideParams struct {
	Period int `param:"period" default:"72" min:"10" max:"500" doc:"Candles in the average volume"`
}

// tide holds while the volume is above its average: on candles tides that earns.
type tide struct {
	average indicator.SMA
	period  int
}

func newTide(p tideParams) (sdk.Strategy, error) {
	return &tide{indicator.NewSMA(p.Period), p.Period}, nil
}

func (s *tide) Warmup() int { return s.period }

func (s *tide) OnCandle(v sdk.View) (sdk.Intents, error) {
	volume := v.Candle().Volume
	s.average.Add(volume)
	switch loud := volume > s.average.Value(); {
	case v.Flat() && loud:
		return sdk.Buy(sdk.CashFraction(0.9)), nil
	case v.Long() && !loud:
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}
