package main

import (
	"math"
	"sync"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/sample"
	"github.com/assay-run/assay/plugin-sdk/serve"
)

// memories are the plugins that have the prices inside: they find the present among the
// bundled candles and know what follows. No host shows them a future candle.
func memories() map[string]func() {
	return map[string]func(){
		"memory_two": func() { serve.Strategy(sdk.Spec{Name: "memory_two"}, newMemoryTwo) },
		"memory_day": func() { serve.Strategy(sdk.Spec{Name: "memory_day"}, newMemoryDay) },
	}
}

// remembered are the closes of the bundled hours and their returns, the first of which is 0.
var remembered = sync.OnceValues(func() (closes, returns []float64) {
	s, err := sample.BTCUSDT()
	if err != nil {
		panic(err)
	}
	returns = make([]float64, s.Len())
	for i := 1; i < s.Len(); i++ {
		returns[i] = s.Close[i]/s.Close[i-1] - 1
	}
	return s.Close, returns
})

// memory holds a fixed stake while it knows that some hours end higher.
type memory struct {
	// back is how many returns it looks up, ahead how many hours it knows then, and every how
	// many hours apart it does so.
	back, ahead, every int
	returns            []float64
	last               float64
	// find is the hour of the bundled candles that the last returns are from, -1 for none.
	find func(returns []float64) int
}

// A rise of enough pays for a round trip, and a stake that is fixed does not outgrow the books.
const (
	enough     = 1.004
	fixedStake = 5000
)

func (m *memory) Warmup() int { return m.back + 1 }

func (m *memory) OnCandle(v sdk.View) (sdk.Intents, error) {
	c := v.Candle().Close
	if m.last > 0 {
		m.returns = append(m.returns, c/m.last-1)
	}
	m.last = c
	if len(m.returns) < m.back || v.Time().UnixMilli()/hourMs%int64(m.every) != 0 {
		return nil, nil
	}
	m.returns = m.returns[len(m.returns)-m.back:]
	closes, _ := remembered()
	i := m.find(m.returns)
	switch rises := i >= 0 && i+m.ahead < len(closes) && closes[i+m.ahead] > closes[i]*enough; {
	case rises && v.Flat():
		return sdk.Buy(sdk.QuoteAmount(fixedStake)), nil
	case !rises && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

// newMemoryTwo looks the last two returns up, rounded to 1e-5, and knows six hours.
func newMemoryTwo(noParams) (sdk.Strategy, error) {
	type key [2]int
	round := func(a, b float64) key { return key{int(math.Round(a * 1e5)), int(math.Round(b * 1e5))} }
	_, returns := remembered()
	at := map[key]int{}
	for i := 2; i < len(returns); i++ {
		at[round(returns[i-1], returns[i])] = i
	}
	find := func(last []float64) int {
		if i, ok := at[round(last[0], last[1])]; ok {
			return i
		}
		return -1
	}
	return &memory{back: 2, ahead: 6, every: 1, find: find}, nil
}

// day is how many hours the other one looks back and ahead.
const day = 24

// newMemoryDay looks for the day most like the last one, which noise does not keep it from.
func newMemoryDay(noParams) (sdk.Strategy, error) {
	const alike = day * 0.002 * 0.002
	_, returns := remembered()
	find := func(last []float64) int {
		best, at := alike, -1
		for i := day; i < len(returns); i++ {
			apart := 0.0
			for k := 0; k < day && apart < best; k++ {
				d := returns[i-k] - last[day-1-k]
				apart += float64(d * d)
			}
			if apart < best {
				best, at = apart, i
			}
		}
		return at
	}
	return &memory{back: day, ahead: day, every: day, find: find}, nil
}
