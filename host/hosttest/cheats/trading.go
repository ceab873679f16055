package cheats

import (
	"fmt"
	"math/rand/v2"
	"time"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
)

type trendParams struct {
	Period int `param:"period" default:"200" min:"2" max:"1000" doc:"Candles in the average"`
}

// trend holds above the average of the last closes: honest.
type trend struct {
	mean   indicator.SMA
	period int
}

func newTrend(p trendParams) (sdk.Strategy, error) {
	return &trend{indicator.NewSMA(p.Period), p.Period}, nil
}

func (s *trend) Warmup() int { return s.period }

func (s *trend) OnCandle(v sdk.View) (sdk.Intents, error) {
	c := v.Candle().Close
	s.mean.Add(c)
	return hold(v, c > s.mean.Value(), half())
}

type bakedParams struct {
	Pair string `param:"pair" default:"10/50" doc:"Candles in the fast and in the slow average"`
}

// baked trades the cross of two averages whose lengths stand in the program as constants: a text here, which
// has no neighbours either. BestPair finds them.
type baked struct {
	fast, slow indicator.SMA
	warmup     int
}

func newBaked(p bakedParams) (sdk.Strategy, error) {
	var fast, slow int
	if _, err := fmt.Sscanf(p.Pair, "%d/%d", &fast, &slow); err != nil || fast < 1 || slow <= fast {
		return nil, sdk.InvalidParam("pair", "must be two numbers such as 10/50")
	}
	return &baked{indicator.NewSMA(fast), indicator.NewSMA(slow), slow}, nil
}

func (s *baked) Warmup() int { return s.warmup }

func (s *baked) OnCandle(v sdk.View) (sdk.Intents, error) {
	c := v.Candle().Close
	s.fast.Add(c)
	s.slow.Add(c)
	return hold(v, s.fast.Value() > s.slow.Value(), half())
}

type stepParams struct {
	Step float64 `param:"step" default:"0.01" above:"0" max:"0.5" doc:"Move that it reacts to, a fraction"`
}

// martingale doubles what it holds whenever the price has fallen by a step below its average entry, and sells
// all for a step of profit.
type martingale struct {
	step  float64
	spent float64 // the last buy, quote
}

func newMartingale(p stepParams) (sdk.Strategy, error) { return &martingale{step: p.Step}, nil }

func (s *martingale) OnCandle(v sdk.View) (sdk.Intents, error) {
	c := v.Candle().Close
	entry := v.Position().EntryPrice
	switch {
	case v.Flat():
		s.spent = v.Equity() / 64
		return sdk.Buy(sdk.QuoteAmount(s.spent)), nil
	case c > entry*(1+s.step):
		return sdk.ClosePosition(), nil
	case c < entry*(1-s.step) && v.Cash() > 2.02*s.spent:
		s.spent *= 2
		return sdk.Buy(sdk.QuoteAmount(s.spent)), nil
	}
	return nil, nil
}

// neverLoses sells for a profit only, however long that takes.
type neverLoses struct{ step float64 }

func newNeverLoses(p stepParams) (sdk.Strategy, error) { return neverLoses{p.Step}, nil }

func (s neverLoses) OnCandle(v sdk.View) (sdk.Intents, error) {
	entry := v.Position().EntryPrice
	return hold(v, v.Flat() || v.Candle().Close < entry*(1+s.step), half())
}

// dice is trend, but for one decision of 2,000, which it leaves to chance.
type dice struct{ *trend }

func newDice(p trendParams) (sdk.Strategy, error) {
	s, err := newTrend(p)
	if err != nil {
		return nil, err
	}
	return dice{s.(*trend)}, nil
}

func (s dice) OnCandle(v sdk.View) (sdk.Intents, error) {
	out, err := s.trend.OnCandle(v)
	if rand.IntN(2000) == 0 {
		return hold(v, v.Flat(), half())
	}
	return out, err
}

// machineDay decides by the calendar day of the machine: it holds on every other day of the market, on even
// days of the month on the one half, on odd ones on the other.
type machineDay struct{}

func newMachineDay(struct{}) (sdk.Strategy, error) { return machineDay{}, nil }

func (machineDay) OnCandle(v sdk.View) (sdk.Intents, error) {
	today := int64(time.Now().Day())
	return hold(v, (v.Time().UnixMilli()/dayMs+today)%2 == 0, half())
}

// disguised holds, but for one candle now and then, so that it has trades.
type disguised struct{}

func newDisguised(struct{}) (sdk.Strategy, error) { return disguised{}, nil }

func (disguised) OnCandle(v sdk.View) (sdk.Intents, error) {
	return hold(v, v.Position().CandlesHeld < 39, sdk.AllCash())
}

type tideParams struct {
	Period int `param:"period" default:"72" min:"10" max:"500" doc:"Candles in the average volume"`
}

// tide holds while the volume is above its average: where prices rise after much volume that is an edge.
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
	return hold(v, volume > s.average.Value(), sdk.CashFraction(0.9))
}

// bomb is a tide until 2027, when it buys for all that it has.
type bomb struct{ *tide }

func newBomb(p tideParams) (sdk.Strategy, error) {
	s, err := newTide(p)
	if err != nil {
		return nil, err
	}
	return bomb{s.(*tide)}, nil
}

func (s bomb) OnCandle(v sdk.View) (sdk.Intents, error) {
	out, err := s.tide.OnCandle(v)
	if v.Time().UTC().Year() >= 2027 {
		return hold(v, true, sdk.AllCash())
	}
	return out, err
}

// turnOfMonth holds from the 28th to the 3rd: an honest rule on the date.
type turnOfMonth struct{}

func newTurnOfMonth(struct{}) (sdk.Strategy, error) { return turnOfMonth{}, nil }

func (turnOfMonth) OnCandle(v sdk.View) (sdk.Intents, error) {
	d := v.Time().UTC().Day()
	return hold(v, d >= 28 || d <= 3, half())
}
