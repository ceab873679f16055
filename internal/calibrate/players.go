package main

import (
	"hash/fnv"
	"math/rand/v2"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The names of the strategies.
const (
	noiseName   = "noise"
	plantedName = "planted"
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
	// them would refute nearly every noise.
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
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.Coin)) // never fails
	return noise{h.Sum64(), market.MustTimeframe(p.Timeframe).Duration().Milliseconds()}, nil
}

func (n noise) OnCandle(v sdk.View) ([]sdk.Intent, error) { return hold(v, n.heads(v.Time())) }

func (n noise) heads(t market.Time) bool {
	place := int64(t) % (coinPeriod * dayMs) / n.step / coinCandles
	return rand.NewPCG(n.coin, uint64(place)).Uint64()>>63 == 0
}

const dayMs = 86_400_000

// planted holds while volume is loud: the days that follow drift up, as long as the
// regime does not turn. On one day of the week it is out, whatever the volume: regimes last
// twenty days, and one holding for each would be too few trades for most of the battery.
type planted struct{}

func newPlanted(struct{}) (sdk.Strategy, error) { return planted{}, nil }

func (planted) OnCandle(v sdk.View) ([]sdk.Intent, error) {
	return hold(v, v.Candle().Volume > (loud+quiet)/2 && !rests(int64(v.Time())/dayMs))
}

// rests says whether planted is out after a day, counted from 1970.
func rests(day int64) bool { return day%7 == 0 }

// hold brings the account to where it is wanted.
func hold(v sdk.View, wanted bool) ([]sdk.Intent, error) {
	switch {
	case wanted && v.Flat():
		return sdk.Buy(sdk.AllCash), nil
	case !wanted && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}
