// Strategies are the plugins of the lab's tests: the program plays the one whose name its file has. It
// starts within milliseconds, which the lab's own test binary, for all it links, does not.
package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/assay-run/assay/host/hosttest/cheats"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sample"
	"github.com/assay-run/assay/plugin-sdk/serve"
)

func main() {
	name := filepath.Base(os.Args[0])
	play, ok := plugins()[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "%s is none of the strategies of this program\n", name)
		os.Exit(2)
	}
	play()
	os.Exit(0)
}

type list map[string]func()

// plugins are the mains by the names of the strategies.
func plugins() list {
	l := list{"counter": serveCounter}
	add(l, "crosser", newCrosser, sdk.Spec{Version: "1.0.0"})
	add(l, "gapshy", newGapshy, sdk.Spec{})
	add(l, "basket", newBasket,
		sdk.Spec{MinSymbols: 1, MaxSymbols: 4, Supports: sdk.Supports{MultiSymbol: true, ScaleFree: true}})
	add(l, "slow", newSlow, sdk.Spec{})
	add(l, "named", newCrosser, sdk.Spec{Name: "another_name"})
	add(l, "choosy", newChoosy, sdk.Spec{})
	add(l, "informed", newInformed, informedSpec())

	// They earn nothing, or hide that something is wrong: talker logs what it does.
	add(l, "noise", newNoise, sdk.Spec{})
	add(l, "holder", newHolder, sdk.Spec{})
	add(l, "thin", newThin, sdk.Spec{})
	quietly(l, "idle", 0, func(sdk.View) sdk.Intents { return nil })
	quietly(l, "sitter", 0, func(v sdk.View) sdk.Intents {
		if v.Flat() {
			return sdk.Buy(sdk.CashFraction(0.5))
		}
		return nil
	})
	quietly(l, "latecomer", 600, turn)
	quietly(l, "talker", 0, func(v sdk.View) sdk.Intents {
		if v.Index() == 20 {
			v.Log("signal", "price", v.Candle().Close, "at", "\x1b[2J", "alone")
		}
		return turn(v)
	})

	// They know what they must not know, or need more history than they ask for.
	add(l, "since", newSince, sdk.Spec{})
	add(l, "warm", newWarm, sdk.Spec{})
	add(l, "recognizer", newRecognizer, sdk.Spec{Supports: sdk.Supports{ScaleFree: true}})
	for _, s := range cheats.Strategies(bundled) {
		l.put(s.Name, s.Main)
	}

	addDated(l)
	add(l, "remembers", newRemembers, sdk.Spec{})

	// They decide otherwise each time.
	add(l, "clocked", newClocked, sdk.Spec{})
	add(l, "summer", newSummer, sdk.Spec{})

	// They fail: maker before its first candle.
	add(l, "maker", newMaker, sdk.Spec{})
	add(l, "crasher", newCrasher, sdk.Spec{})
	for name, act := range faults {
		made := func(p faultyParams) (sdk.Strategy, error) { return &faulty{p, act, mended()}, nil }
		add(l, name, made, sdk.Spec{})
	}
	return l
}

// bundled returns the candles that programs have inside which know prices: the hours of BTC/USDT of 2019 and
// 2020.
func bundled(string) (*market.Series, error) {
	s, err := sample.BTCUSDT()
	if err != nil {
		return nil, err
	}
	return cheats.Between(s, time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)), nil
}

// add puts a strategy on the list; it has the name of its place unless the spec has another.
func add[P any](l list, name string, made func(P) (sdk.Strategy, error), spec sdk.Spec) {
	if spec.Name == "" {
		spec.Name = name
	}
	l.put(name, func() { serve.Strategy(spec, made) })
}

// put adds a main; two of one name are a mistake of this program.
func (l list) put(name string, main func()) {
	if l[name] != nil {
		panic("two strategies are called " + name)
	}
	l[name] = main
}

func quietly(l list, name string, warmup int, act func(sdk.View) sdk.Intents) {
	add(l, name, func(noParams) (sdk.Strategy, error) { return quiet{warmup, act}, nil }, sdk.Spec{})
}

// turn opens and closes a position every ten candles.
func turn(v sdk.View) sdk.Intents {
	switch {
	case v.Index()%10 != 0:
		return nil
	case v.Flat():
		return sdk.Buy(sdk.CashFraction(0.5))
	}
	return sdk.ClosePosition()
}

type quiet struct {
	warmup int
	act    func(sdk.View) sdk.Intents
}

func (q quiet) Warmup() int { return q.warmup }

func (q quiet) OnCandle(v sdk.View) (sdk.Intents, error) { return q.act(v), nil }

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

// slow takes its time when the environment of the tests asks for it.
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

type choosyParams struct {
	Mode   string `param:"mode" default:"follow" enum:"follow,fade,fail,ponder" doc:"What a cross means"`
	Calm   bool   `param:"calm" default:"false" doc:"Trade every other cross only"`
	Period int    `param:"period" default:"10" min:"2" max:"500" doc:"Candles in the average"`
}

type choosy struct {
	choosyParams
	mean indicator.SMA
	last float64
	n    int
	long [3000]float64 // what it ponders
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
	if s.Mode == "ponder" { // it follows, and takes as long as one that computes
		for i := range s.long {
			s.long[i] = s.long[i]/2 + c
		}
	}
	above, was := c > s.mean.Value(), s.last
	s.last = c - s.mean.Value()
	if above == (was > 0) {
		return nil, nil
	}
	if s.n++; s.Calm && s.n%2 == 0 {
		return nil, nil
	}
	switch want := above == (s.Mode != "fade"); {
	case want && v.Flat():
		return sdk.Buy(sdk.CashFraction(0.5)), nil
	case !want && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

// middle is between the two closes of the stairs, one kind of the tests' candles.
const middle = 400.0

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
