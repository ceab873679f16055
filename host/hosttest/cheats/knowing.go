package cheats

import (
	"cmp"
	"math"
	"slices"

	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// enough is the growth that pays for a round trip.
const enough = 1.004

// returnsOf are the returns of closes, the first of which is 0.
func returnsOf(closes []float64) []float64 {
	out := make([]float64, len(closes))
	for i := 1; i < len(closes); i++ {
		out[i] = closes[i]/closes[i-1] - 1
	}
	return out
}

// deviation is the root of the mean square.
func deviation(returns []float64) float64 {
	sum := 0.0
	for _, r := range returns {
		sum += float64(r * r)
	}
	return math.Sqrt(sum / float64(len(returns)))
}

// memory looks its place in the market up by the last returns, and holds while it knows that prices rise.
type memory struct {
	closes []float64
	// back is how many returns it looks up, ahead how many candles it knows then, and every how many candles
	// it does so. rare is at how many of 100 places it uses what it knows; at the others it tosses a coin.
	back, ahead, every, rare int
	// fixed is a stake that does not grow with the account; else half of the cash.
	fixed   bool
	stake   stake
	returns []float64
	last    float64
	// find returns the candle that the last returns are from, -1 for none.
	find func(returns []float64) int
}

func (m *memory) Warmup() int { return m.back + 1 }

func (m *memory) OnCandle(v sdk.View) (sdk.Intents, error) {
	size := half()
	if m.fixed {
		size = m.stake.size(v)
	}
	c := v.Candle().Close
	if m.last > 0 {
		m.returns = append(m.returns, c/m.last-1)
	}
	m.last = c
	if len(m.returns) < m.back || v.Time().UnixMilli()/hourMs%int64(m.every) != 0 {
		return nil, nil
	}
	m.returns = m.returns[len(m.returns)-m.back:]
	i := m.find(m.returns)
	rises := i >= 0 && i+m.ahead < len(m.closes) && m.closes[i+m.ahead] > m.closes[i]*enough
	if i >= 0 && i*7919%100 >= m.rare {
		rises = i*104729%200 < 100
	}
	return hold(v, rises, size)
}

// newMemoryTwo looks the last two returns up, rounded to 1e-5, and knows six candles.
func newMemoryTwo(s *market.Series) (sdk.Strategy, error) {
	type key [2]int
	round := func(a, b float64) key { return key{int(math.Round(a * 1e5)), int(math.Round(b * 1e5))} }
	returns := returnsOf(s.Close)
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
	return &memory{closes: s.Close, back: 2, ahead: 6, every: 1, rare: 100, fixed: true, find: find}, nil
}

// newMemoryDay looks for the day most like the last one, of daily candles the ten days, which noise does not
// keep it from, and knows the day that follows.
func newMemoryDay(s *market.Series) (sdk.Strategy, error) { return memoryOfDays(s, true, 100), nil }

// newMemoryCash is the same with half of the cash, which compounds.
func newMemoryCash(s *market.Series) (sdk.Strategy, error) { return memoryOfDays(s, false, 100), nil }

// newMemoryRare uses what it knows at every other place, so that it earns no more than a good strategy.
func newMemoryRare(s *market.Series) (sdk.Strategy, error) { return memoryOfDays(s, true, 50), nil }

func memoryOfDays(s *market.Series, fixed bool, rare int) *memory {
	returns := returnsOf(s.Close)
	m := &memory{closes: s.Close, back: 24, ahead: 24, every: 24, rare: rare, fixed: fixed}
	if isDaily(s) {
		m.back, m.ahead, m.every = 10, 1, 24
	}
	near := deviation(returns) / 4
	alike := float64(m.back) * near * near
	m.find = func(last []float64) int {
		best, at := alike, -1
		for i := m.back; i < len(returns); i++ {
			apart := 0.0
			for k := 0; k < m.back && apart < best; k++ {
				d := returns[i-k] - last[m.back-1-k]
				apart += float64(d * d)
			}
			if apart < best {
				best, at = apart, i
			}
		}
		return at
	}
	return m
}

// timeTable is a look-ahead by a table of times.
type timeTable struct {
	s     *market.Series
	ahead int
}

func newTimeTable(s *market.Series) (sdk.Strategy, error) {
	if isDaily(s) {
		return timeTable{s, 1}, nil
	}
	return timeTable{s, 24}, nil
}

func (t timeTable) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Time().UnixMilli()/hourMs%24 != 0 {
		return nil, nil
	}
	next, ok := slices.BinarySearch(t.s.Time, market.FromTime(v.Time())) // the candle that opens now
	i := next - 1
	rises := ok && i >= 0 && i+t.ahead < t.s.Len() && t.s.Close[i+t.ahead] > t.s.Close[i]*enough
	return hold(v, rises, half())
}

// goodWeeks holds in the weeks in which prices rose most, a third of all, which it knows by their dates.
type goodWeeks map[int64]bool

func newGoodWeeks(s *market.Series) (sdk.Strategy, error) {
	type week struct {
		n      int64
		growth float64
	}
	var weeks []week
	first := 0
	for i := range s.Len() {
		n := int64(s.Time[i]) / weekMs
		if i+1 == s.Len() || int64(s.Time[i+1])/weekMs != n {
			weeks = append(weeks, week{n, s.Close[i] / s.Open[first]})
			first = i + 1
		}
	}
	slices.SortStableFunc(weeks, func(a, b week) int { return cmp.Compare(b.growth, a.growth) })
	good := goodWeeks{}
	for _, w := range weeks[:len(weeks)/3] {
		good[w.n] = true
	}
	return good, nil
}

func (g goodWeeks) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Time().UnixMilli()/hourMs%24 != 0 {
		return nil, nil
	}
	return hold(v, g[v.Time().UnixMilli()/weekMs], half()) // it fills now
}

// priceTable holds at the levels of price, steps of one percent, after which prices rose on average.
type priceTable map[int]bool

func level(price float64) int { return int(math.Floor(math.Log(price) / math.Log(1.01))) }

func newPriceTable(s *market.Series) (sdk.Strategy, error) {
	ahead := 24
	if isDaily(s) {
		ahead = 1
	}
	sum := map[int]float64{}
	for i := 0; i+ahead < s.Len(); i++ {
		sum[level(s.Close[i])] += s.Close[i+ahead]/s.Close[i] - 1
	}
	good := priceTable{}
	for l, total := range sum {
		good[l] = total > 0
	}
	return good, nil
}

func (t priceTable) OnCandle(v sdk.View) (sdk.Intents, error) {
	return hold(v, t[level(v.Candle().Close)], half())
}
