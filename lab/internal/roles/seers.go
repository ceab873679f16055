package main

import (
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/serve"
)

// seers are the plugins of the scripts about markets that are seen otherwise.
func seers() map[string]func() {
	return map[string]func(){
		"seer": func() {
			serve.Strategy(sdk.Spec{Name: "seer", Supports: sdk.Supports{ScaleFree: true}}, newSeer)
		},
	}
}

type seerParams struct {
	By string `param:"by" default:"price" enum:"price,year,name" doc:"What it knows the market by"`
}

// seer is a crosser that dares less where a market is not the one that it knows.
type seer struct {
	*crosser
	by string
}

func newSeer(p seerParams) (sdk.Strategy, error) {
	s, err := newCrosser(crosserParams{Fast: 5, Slow: 15, Size: 0.5})
	if err != nil {
		return nil, err
	}
	return &seer{s.(*crosser), p.By}, nil
}

func (s *seer) OnCandle(v sdk.View) (sdk.Intents, error) {
	known := map[string]bool{
		"price": v.Candle().Close < 1e5, "year": v.Time().Before(time.Date(2020, 12, 31, 0, 0, 0, 0, time.UTC)), "name": v.Symbols()[0] == "BTC/USDT",
	}
	s.size = sdk.CashFraction(0.25)
	if known[s.by] {
		s.size = sdk.CashFraction(0.5)
	}
	return s.crosser.OnCandle(v)
}
