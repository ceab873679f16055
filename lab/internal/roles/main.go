// Roles are the plugins of the lab's tests: the program plays the one whose name its file has. It
// starts within milliseconds, which the lab's own test binary, for all it links, does not.
package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/serve"
)

func main() {
	name := filepath.Base(os.Args[0])
	role, ok := roles()[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "%s is none of the roles of this program\n", name)
		os.Exit(2)
	}
	role()
	os.Exit(0)
}

// roles are the plugins by their names.
func roles() map[string]func() {
	list := map[string]func(){
		"crosser": func() { serve.Strategy(sdk.Spec{Name: "crosser", Version: "1.0.0"}, newCrosser) },
		"clocked": func() { serve.Strategy(sdk.Spec{Name: "clocked"}, newClocked) },
		"crasher": func() { serve.Strategy(sdk.Spec{Name: "crasher"}, newCrasher) },
		"gapshy":  func() { serve.Strategy(sdk.Spec{Name: "gapshy"}, newGapshy) },
		"basket":  func() { serve.Strategy(basketSpec(), newBasket) },
		"slow":    func() { serve.Strategy(sdk.Spec{Name: "slow"}, newSlow) },
		"named":   func() { serve.Strategy(sdk.Spec{Name: "another_name"}, newCrosser) },
	}
	maps.Copy(list, misfits())
	maps.Copy(list, searched())
	maps.Copy(list, cheats())
	maps.Copy(list, worthless())
	maps.Copy(list, seers())
	maps.Copy(list, memories())
	maps.Copy(list, absent())
	list["tide"] = func() { serve.Strategy(tideSpec(), newTide) }
	return list
}

type crosserParams struct {
	Fast int     `param:"fast" default:"10" min:"1" max:"500" doc:"Candles in the fast average"`
	Slow int     `param:"slow" default:"30" min:"2" max:"1000" doc:"Candles in the slow average"`
	Size float64 `param:"size" default:"0.5" above:"0" max:"1" doc:"Share of the cash"`
}

// crosser trades the cross of two averages.
type crosser struct {
	fast, slow indicator.SMA
	warmup     int
	size       sdk.Size
}

func newCrosser(p crosserParams) (sdk.Strategy, error) {
	if p.Fast >= p.Slow {
		return nil, sdk.InvalidParam("fast", "must be below slow")
	}
	return &crosser{indicator.NewSMA(p.Fast), indicator.NewSMA(p.Slow), p.Slow, sdk.CashFraction(p.Size)}, nil
}

func (s *crosser) Warmup() int { return s.warmup }

func (s *crosser) OnCandle(v sdk.View) (sdk.Intents, error) {
	s.fast.Add(v.Candle().Close)
	s.slow.Add(v.Candle().Close)
	switch {
	case v.Flat() && s.fast.CrossedAbove(&s.slow):
		return sdk.Buy(s.size), nil
	case v.Long() && s.fast.CrossedBelow(&s.slow):
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

type noParams struct{}

// clocked decides by the wall clock.
type clocked struct{}

func newClocked(noParams) (sdk.Strategy, error) { return clocked{}, nil }

func (clocked) OnCandle(v sdk.View) (sdk.Intents, error) {
	switch {
	case v.Flat() && time.Now().UnixNano()/1000%3 == 0:
		return sdk.Buy(sdk.AllCash()), nil
	case v.Long() && time.Now().UnixNano()/1000%3 == 1:
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

// crasher fails at a candle in the middle of the data.
type crasher struct{}

func newCrasher(noParams) (sdk.Strategy, error) { return crasher{}, nil }

func (crasher) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Index() == 137 {
		return nil, errors.New("no more")
	}
	return nil, nil
}

// gapshy trades as crosser does and is lost when an hour is missing.
type gapshy struct {
	*crosser
	last int64
}

func newGapshy(noParams) (sdk.Strategy, error) {
	s, err := newCrosser(crosserParams{Fast: 5, Slow: 15, Size: 0.5})
	if err != nil {
		return nil, err
	}
	return &gapshy{crosser: s.(*crosser)}, nil
}

func (s *gapshy) OnCandle(v sdk.View) (sdk.Intents, error) {
	now := v.Time().UnixMilli()
	if s.last != 0 && now-s.last != 3_600_000 {
		panic("an hour is missing")
	}
	s.last = now
	return s.crosser.OnCandle(v)
}

// basket trades the cross of two averages of each of its symbols, and publishes one.
type basket struct{ fast, slow []indicator.SMA }

func basketSpec() sdk.Spec {
	return sdk.Spec{Name: "basket", MinSymbols: 1, MaxSymbols: 4, Supports: sdk.Supports{MultiSymbol: true, ScaleFree: true}}
}

func newBasket(noParams) (sdk.Strategy, error) { return &basket{}, nil }

func (s *basket) Warmup() int { return 12 }

func (s *basket) OnCandle(v sdk.View) (sdk.Intents, error) {
	var out sdk.Intents
	for i, symbol := range v.Symbols() {
		if i == len(s.fast) {
			s.fast, s.slow = append(s.fast, indicator.NewSMA(4)), append(s.slow, indicator.NewSMA(12))
		}
		one := v.For(symbol)
		if !one.Closed() {
			continue
		}
		c := one.Candle()
		s.fast[i].Add(c.Close)
		s.slow[i].Add(c.Close)
		switch {
		case one.Flat() && s.fast[i].CrossedAbove(&s.slow[i]):
			out = append(out, sdk.Buy(sdk.CashFraction(0.3)).On(symbol)...)
		case one.Long() && s.fast[i].CrossedBelow(&s.slow[i]):
			out = append(out, sdk.ClosePosition().On(symbol)...)
		}
		if i == 0 {
			v.Publish("slow", s.slow[i].Value())
		}
	}
	return out, nil
}

// slow takes its time when the environment of the tests says so.
type slow struct{ *crosser }

func newSlow(p crosserParams) (sdk.Strategy, error) {
	s, err := newCrosser(p)
	if err != nil {
		return nil, err
	}
	return &slow{s.(*crosser)}, nil
}

func (s *slow) OnCandle(v sdk.View) (sdk.Intents, error) {
	if math.Mod(float64(v.Index()), 100) == 0 {
		time.Sleep(2 * time.Millisecond)
	}
	return s.crosser.OnCandle(v)
}
