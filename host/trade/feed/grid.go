package feed

import (
	"math"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// monday is the first one of Unix time: weeks begin there.
const monday = market.Time(4 * 24 * time.Hour / time.Millisecond)

// floor is the last open time of the timeframe's grid that is not after t: multiples of
// the timeframe since 1970, for weeks since its first Monday, for months since year 0.
func floor(tf market.Timeframe, t market.Time) market.Time {
	if tf.Unit == 'M' {
		at := t.Time()
		months := at.Year()*12 + int(at.Month()) - 1
		months -= months % tf.Count
		return market.FromTime(time.Date(months/12, time.Month(months%12+1), 1, 0, 0, 0, 0, time.UTC))
	}
	anchor := market.Time(0)
	if tf.Unit == 'w' {
		anchor = monday
	}
	span := market.Time(tf.Duration() / time.Millisecond)
	rest := (t - anchor) % span
	if rest < 0 {
		rest += span
	}
	return t - rest
}

// slots counts the open times in [from, to).
func slots(tf market.Timeframe, from, to market.Time) int {
	if span := market.Time(tf.Duration() / time.Millisecond); span > 0 {
		return int(max(0, (to-from+span-1)/span))
	}
	n := 0
	for ; from < to; from = tf.Next(from) {
		n++
	}
	return n
}

// unsound says what is wrong with a candle; "" if it is one. Stored candles were checked
// when they were imported and may lie off the grid.
func (f *Feed) unsound(c *market.Candle) string {
	for _, x := range [...]float64{c.Open, c.High, c.Low, c.Close, c.Volume} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return "a number is not finite"
		}
	}
	switch {
	case c.Open <= 0 || c.High <= 0 || c.Low <= 0 || c.Close <= 0:
		return "a price is not above 0"
	case c.Volume < 0:
		return "the volume is negative"
	case c.High < c.Low:
		return "the high is below the low"
	case c.CloseTime <= c.OpenTime:
		return "it closes before it opens"
	case f.cfg.Stored:
		return ""
	case c.High < max(c.Open, c.Close) || c.Low > min(c.Open, c.Close):
		return "open or close lies outside low and high"
	case floor(f.cfg.Timeframe, c.OpenTime) != c.OpenTime || f.cfg.Timeframe.Next(c.OpenTime) != c.CloseTime:
		return "its times are off the grid of the timeframe"
	case c.CloseTime > f.cfg.Clock.Now().Add(maxSkew):
		return "it has not closed yet"
	}
	return ""
}
