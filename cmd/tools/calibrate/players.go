package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The names of the strategies.
const (
	noiseName    = "noise"
	numberedName = "numbered"
	plantedName  = "planted"
)

// A coin of noise lasts so many candles, and the coins repeat after 364 days: moved by
// them, as the test metamorphic does, noise decides the same. If it did not, that test
// would refute every noise, and nothing would be known of the others.
const (
	coinCandles = 3
	coinPeriod  = 364
)

type noiseParams struct {
	// Coin is text: a number would have neighbours, which are other coins, and the test of
	// them would find fault with nearly every noise.
	Coin      string `param:"coin" default:"c0" doc:"Which of the coins is thrown"`
	Timeframe string `param:"timeframe" default:"1d" enum:"1d,1h" doc:"Length of a candle"`
}

// noise holds or does not hold by a hash of the candle's time: half of the time, in
// holdings of six candles on average.
type noise struct {
	coin uint64
	step int64 // of a candle in milliseconds
}

func newNoise(p noiseParams) (sdk.Strategy, error) {
	return noise{coinOf(p.Coin), market.MustTimeframe(p.Timeframe).Duration().Milliseconds()}, nil
}

func coinOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return h.Sum64()
}

// numberedParams are those of noise whose coins lie side by side, as the values of a number
// do that means nothing: what is best among them is a knife edge.
type numberedParams struct {
	Market string `param:"market" default:"0" doc:"Which market the coins are for"`
	Coin   int    `param:"coin" default:"500" min:"0" max:"1000" doc:"Which of the coins is thrown"`
}

func newNumbered(p numberedParams) (sdk.Strategy, error) {
	return noise{coinOf(fmt.Sprintf("%s/%d", p.Market, p.Coin)), dayMs}, nil
}

func (n noise) OnCandle(v sdk.View) (sdk.Intents, error) {
	return hold(v, n.heads(market.FromTime(v.Time())))
}

func (n noise) heads(t market.Time) bool {
	place := int64(t) % (coinPeriod * dayMs) / n.step / coinCandles
	return rand.NewPCG(n.coin, uint64(place)).Uint64()>>63 == 0
}

const dayMs = 86_400_000

// planted holds while volume is loud: the days that follow drift up, as long as the
// regime does not turn. On one day of the week it is out, whatever the volume: regimes last
// twenty days, and one holding for each would be too few trades for most of the battery.
type planted struct{ every int64 }

// restEvery is the default of plantedParams.Rest, of which the true Sharpe ratio is.
const restEvery = 7

// plantedParams has a number with honest neighbours: two days more or less are a little
// more or less time in the market.
type plantedParams struct {
	Rest int `param:"rest" default:"7" min:"5" max:"9" doc:"Out of the market on one of so many days"`
}

func newPlanted(p plantedParams) (sdk.Strategy, error) { return planted{int64(p.Rest)}, nil }

func (p planted) OnCandle(v sdk.View) (sdk.Intents, error) {
	return hold(v, v.Candle().Volume > (loud+quiet)/2 && !rests(v.Time().UnixMilli()/dayMs, p.every))
}

// rests reports whether planted is out after a day, counted from 1970.
func rests(day, every int64) bool { return day%every == 0 }

// hold brings the account to where it is wanted.
func hold(v sdk.View, wanted bool) (sdk.Intents, error) {
	switch {
	case wanted && v.Flat():
		return sdk.Buy(sdk.AllCash()), nil
	case !wanted && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}
