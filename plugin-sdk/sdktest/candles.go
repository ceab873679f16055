package sdktest

import (
	"bytes"
	_ "embed"
	"testing"
	"time"

	"github.com/assay-run/assay/plugin-sdk/candlefile"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// firstOpen is where candles begin that are written by hand.
func firstOpen() time.Time { return time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Candles are hours with these opens, highs, lows and closes, for a test by hand.
func Candles(rows ...[4]float64) *market.Series {
	s := &market.Series{Symbol: SynthSymbol, Timeframe: market.MustTimeframe("1h")}
	for i, r := range rows {
		t := market.FromTime(firstOpen()).Add(time.Duration(i) * time.Hour)
		s.Append(market.Candle{OpenTime: t, Open: r[0], High: r[1], Low: r[2], Close: r[3], Volume: 1})
	}
	return s
}

// Closes are Candles in which nothing happens but these closes.
func Closes(closes ...float64) *market.Series {
	rows := make([][4]float64, len(closes))
	for i, c := range closes {
		rows[i] = [4]float64{c, c, c, c}
	}
	return Candles(rows...)
}

// sampleHours are the newest 2,000 candles of the bundled BTC/USDT.
//
//go:embed sample.candles
var sampleHours []byte

// Sample is real candles for a test: 2,000 hours of BTC/USDT, up to 2024-04-21. They are part
// of the SDK, so a test gives the same on every machine.
func Sample(t testing.TB) *market.Series {
	t.Helper()
	f, err := candlefile.Decode(bytes.Clone(sampleHours)) // a test may change its own
	if err != nil {
		t.Fatalf("the bundled candles: %v", err)
	}
	s := f.Series()
	s.Symbol = "BTC/USDT"
	return s
}

// SynthSymbol is the symbol of generated candles.
const SynthSymbol market.Symbol = "SYNTH/USD"

// Synth generates n candles from the seed: a random walk with jumps at the open,
// and now and then a gap of one to five candles. It is exact integer arithmetic in
// ticks of 0.01, so the candles are the same on every machine.
//
// The timeframe is the step. The Symbol is SynthSymbol; callers may set another.
func Synth(seed uint64, n int, start time.Time, step time.Duration) *market.Series {
	s := &market.Series{
		Symbol: SynthSymbol, Timeframe: timeframeOf(step),
		Time: make([]market.Time, 0, n), Open: make([]float64, 0, n), High: make([]float64, 0, n),
		Low: make([]float64, 0, n), Close: make([]float64, 0, n), Volume: make([]float64, 0, n),
	}
	w := walk{state: seed, price: 100000}
	t := market.FromTime(start)
	for range n {
		c := w.candle()
		s.Time = append(s.Time, t)
		s.Open = append(s.Open, float64(c.open)/100)
		s.High = append(s.High, float64(c.high)/100)
		s.Low = append(s.Low, float64(c.low)/100)
		s.Close = append(s.Close, float64(c.close)/100)
		s.Volume = append(s.Volume, float64(c.volume))
		t = t.Add(step)
		if w.draw(200) == 0 {
			t = t.Add(step * time.Duration(1+w.draw(5)))
		}
	}
	return s
}

// timeframeOf is the timeframe of a whole number of seconds, in its largest unit.
func timeframeOf(step time.Duration) market.Timeframe {
	units := []struct {
		letter byte
		length time.Duration
	}{{'w', 7 * 24 * time.Hour}, {'d', 24 * time.Hour}, {'h', time.Hour}, {'m', time.Minute}}
	for _, u := range units {
		if step >= u.length && step%u.length == 0 {
			return market.Timeframe{Count: int(step / u.length), Unit: u.letter}
		}
	}
	return market.Timeframe{Count: int(step / time.Second), Unit: 's'}
}

// ticks is one candle, prices in hundredths.
type ticks struct{ open, high, low, close, volume int64 }

// walk is the generator: a linear congruential sequence and the last close.
type walk struct {
	state uint64
	price int64
}

// draw is the next number in [0, m).
func (w *walk) draw(m int64) int64 {
	w.state = w.state*6364136223846793005 + 1442695040888963407
	return int64(w.state>>33) % m
}

// candle walks eight moves from the last close. Every quotient is floored by itself,
// which is what makes the numbers reproducible in any language.
func (w *walk) candle() ticks {
	p := w.price
	o := p
	if w.draw(50) == 0 {
		o = max(1000, p+w.draw(401)*p/8000-200*p/8000)
	}
	c := ticks{open: o, high: o, low: o, close: o}
	for range 8 {
		c.close = max(1000, c.close+w.draw(61)*p/10000-30*p/10000)
		c.high = max(c.high, c.close)
		c.low = min(c.low, c.close)
	}
	c.volume = 1 + w.draw(1000)
	w.price = c.close
	return c
}
