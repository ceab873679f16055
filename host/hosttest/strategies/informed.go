package main

import sdk "github.com/assay-run/assay/plugin-sdk"

func informedSpec() sdk.Spec { return sdk.Spec{Inputs: []sdk.Input{{Name: "rate"}}} }

type informedParams struct {
	Limit float64 `param:"limit" default:"0" min:"-10" max:"10"`
}

// informed holds while an input is above a limit.
type informed struct{ informedParams }

func newInformed(p informedParams) (sdk.Strategy, error) { return informed{p}, nil }

func (s informed) OnCandle(v sdk.View) (sdk.Intents, error) {
	switch rate := v.Input("rate").Value(); {
	case v.Flat() && rate > s.Limit:
		return sdk.Buy(sdk.CashFraction(0.5)), nil
	case v.Long() && rate <= s.Limit:
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}
