package main

import (
	"errors"
	"math/rand/v2"
	"time"

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

// middle is between the two closes of the stairs, one kind of the tests' candles.
const middle = 400.0

// worthless are the plugins that fool nobody but their author: B-17 to B-20.
func worthless() map[string]func() {
	return map[string]func(){
		"idle":   func() { serve.Strategy(sdk.Spec{Name: "idle"}, newIdle) },
		"noise":  func() { serve.Strategy(sdk.Spec{Name: "noise"}, newNoise) },
		"holder": func() { serve.Strategy(sdk.Spec{Name: "holder"}, newHolder) },
		"thin":   func() { serve.Strategy(sdk.Spec{Name: "thin"}, newThin) },
	}
}

// idle never trades.
type idle struct{}

func newIdle(noParams) (sdk.Strategy, error) { return idle{}, nil }

func (idle) OnCandle(sdk.View) (sdk.Intents, error) { return nil, nil }

type noiseParams struct {
	Salt int `param:"salt" default:"0" min:"0" max:"1000000" doc:"Which of the coins is thrown"`
}

// noise holds or does not hold by a hash of the time.
type noise struct{ salt int }

func newNoise(p noiseParams) (sdk.Strategy, error) { return noise{p.Salt}, nil }

func (n noise) OnCandle(v sdk.View) (sdk.Intents, error) {
	coin := rand.NewPCG(uint64(v.Time().UnixMilli()), uint64(n.salt))
	switch heads := coin.Uint64()>>63 == 0; {
	case heads && v.Flat():
		return sdk.Buy(sdk.CashFraction(0.9)), nil
	case !heads && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

// holder buys once and holds.
type holder struct{}

func newHolder(noParams) (sdk.Strategy, error) { return holder{}, nil }

func (holder) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Flat() {
		return sdk.Buy(sdk.AllCash()), nil
	}
	return nil, nil
}

// thin takes two of four hundred on every move of the market that candles stairs makes.
type thin struct{}

func newThin(noParams) (sdk.Strategy, error) { return thin{}, nil }

func (thin) OnCandle(v sdk.View) (sdk.Intents, error) {
	switch low := v.Candle().Close < middle; {
	case low && v.Flat():
		return sdk.Buy(sdk.Quantity(1)), nil
	case !low && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}
