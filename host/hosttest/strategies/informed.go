package main

import sdk "github.com/assay-run/assay/plugin-sdk"

func informedSpec() sdk.Spec { return sdk.Spec{Inputs: []sdk.Input{{Name: "rate"}}} }

type informedParams struct {
	Limit  float64 `param:"limit" default:"0" min:"-10" max:"10"`
	Breaks float64 `param:"breaks" default:"0" min:"-10" max:"10"`
	Until  int     `param:"until" default:"31" min:"1" max:"31"`
}

// informed holds while an input is above a limit, until a day of the month, and panics where the input
// has one value but 0.
type informed struct{ informedParams }

func newInformed(p informedParams) (sdk.Strategy, error) { return informed{p}, nil }

func (s informed) OnCandle(v sdk.View) (sdk.Intents, error) {
	late := v.Time().Day() > s.Until
	switch rate := v.Input("rate").Value(); {
	case rate != 0 && rate == s.Breaks:
		panic("the rate is one that was ruled out")
	case v.Flat() && rate > s.Limit && !late:
		return sdk.Buy(sdk.CashFraction(0.5)), nil
	case v.Long() && (rate <= s.Limit || late):
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}
