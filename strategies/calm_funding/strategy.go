package main

import (
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
)

func spec() sdk.Spec {
	return sdk.Spec{
		Name: "calm_funding", DisplayName: "Calm funding", Version: "1.0.0", Author: "Assay",
		Description: "Holds while the average of the last funding rates is below a limit, and stays out " +
			"while buyers crowd and pay more.",
		// A rate comes every eight hours.
		Inputs:   []sdk.Input{{Name: "funding", MaxAge: 9 * time.Hour}},
		Supports: sdk.Supports{ScaleFree: true},
	}
}

type params struct {
	Rates    int     `param:"rates" default:"9" min:"1" max:"1000" title:"Rates" doc:"Funding rates in the average"`
	Limit    float64 `param:"limit" default:"0.0003" min:"-1" max:"1" title:"Limit" doc:"Average rate from which on it stays out"`
	Fraction float64 `param:"cash_fraction" default:"0.5" above:"0" max:"1" search:"off" title:"Cash fraction" doc:"Share of the cash to buy for"`
}

type calmFunding struct{ params }

func newCalmFunding(p params) (sdk.Strategy, error) { return calmFunding{p}, nil }

func (s calmFunding) OnCandle(v sdk.View) (sdk.Intents, error) {
	rates := v.Input("funding").History(s.Rates)
	if len(rates) < s.Rates {
		return nil, nil
	}
	average := 0.0
	for _, r := range rates {
		average += r.Value / float64(len(rates))
	}
	switch {
	case v.Flat() && average < s.Limit:
		return sdk.Buy(sdk.CashFraction(s.Fraction)), nil
	case v.Long() && average >= s.Limit:
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}
