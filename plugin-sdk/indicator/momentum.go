package indicator

import (
	"math"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// RSI is Wilder's relative strength index, 0 to 100. It needs n changes, so it is ready
// with value number n+1. Without any loss in its memory it is 100; this includes a
// price that has never moved, for which TA-Lib has 0.
type RSI struct {
	line
	gain, loss wilder
	last       Track
}

// NewRSI is an index over n changes, 1 to MaxPeriod; usually 14.
func NewRSI(n int) RSI {
	average := newWilder(checkPeriod("NewRSI", "n", n))
	return RSI{gain: average, loss: average}
}

// Add takes the next value.
func (r *RSI) Add(x float64) {
	x = orNaN(x)
	r.last.Add(x)
	if r.last.count == 1 {
		return
	}
	change := x - r.last.previous
	r.gain.add(max(change, 0))
	if !r.loss.add(max(-change, 0)) {
		return
	}
	if r.loss.value == 0 {
		r.set(100)
		return
	}
	r.set(100 - 100/(1+r.gain.value/r.loss.value))
}

// wilder is the smoothing of RSI and ATR: the mean of the first n values, from then on
// an average in which the newest counts 1/n.
type wilder struct {
	value, period float64
	seen, need    int
}

func newWilder(n int) wilder { return wilder{period: float64(n), need: n} }

// add reports whether there is a value.
func (w *wilder) add(x float64) bool {
	if w.need == 0 {
		panic(notMade)
	}
	if w.seen < w.need {
		w.value += x / w.period
		w.seen++
		return w.seen == w.need
	}
	w.value = (float64(w.value*(w.period-1)) + x) / w.period
	return true
}

// ATR is Wilder's average true range. The true range of a candle is the largest of
// high - low and the distances of high and low from the close before. As in TA-Lib the
// first candle only supplies that close, so ATR is ready with candle n+1.
type ATR struct {
	line
	average wilder
	close   float64
	started bool
}

// NewATR is an average over n true ranges, 1 to MaxPeriod; usually 14.
func NewATR(n int) ATR { return ATR{average: newWilder(checkPeriod("NewATR", "n", n))} }

// Add takes the next candle.
func (a *ATR) Add(c market.Candle) {
	before := a.close
	a.close = c.Close
	if !a.started {
		a.started = true
		return
	}
	if a.average.add(trueRange(c, before)) {
		a.set(a.average.value)
	}
}

// trueRange takes the close of the candle before.
func trueRange(c market.Candle, before float64) float64 {
	return orNaN(max(c.High-c.Low, math.Abs(c.High-before), math.Abs(c.Low-before)))
}

// ROC is the rate of change in percent: 100 * (x / x of n values ago - 1). Ready with
// value number n+1. As in TA-Lib it is 0 where the earlier value is 0.
type ROC struct {
	line
	window window
}

// NewROC looks n values back, 1 to MaxPeriod.
func NewROC(n int) ROC {
	return ROC{window: newWindow(checkPeriod("NewROC", "n", n) + 1)}
}

// Add takes the next value.
func (r *ROC) Add(x float64) {
	now, _ := r.window.push(x)
	if !r.window.full() {
		return
	}
	rate := 0.0
	if then := r.window.oldest(); then != 0 {
		rate = (now/then - 1) * 100
	}
	r.set(r.window.trusted(rate))
}

// stochastic is what Stochastic and StochRSI share.
type stochastic struct {
	line
	high, low       peaks
	smooth, average SMA
	signal          line
}

func newStochastic(constructor string, n, smooth, d int) stochastic {
	checkPeriod(constructor, "n", n)
	checkPeriod(constructor, "smooth", smooth)
	checkPeriod(constructor, "d", d)
	return stochastic{high: newPeaks(n), low: newPeaks(n), smooth: NewSMA(smooth), average: NewSMA(d)}
}

func (s *stochastic) add(high, low, x float64) {
	top, full := s.high.push(high)
	bottom, _ := s.low.push(-low)
	if !full {
		return
	}
	s.smooth.Add(percent(x+bottom, top+bottom))
	if !s.smooth.Ready() {
		return
	}
	s.average.Add(s.smooth.value)
	if s.average.Ready() {
		s.set(s.smooth.value)
		s.signal.set(s.average.value)
	}
}

// K is the place in the range, averaged over smooth values.
func (s *stochastic) K() float64 { return s.value }

// D is the average of K over d values.
func (s *stochastic) D() float64 { return s.signal.value }

// DLine is D as a line, for crossings.
func (s *stochastic) DLine() Line { return &s.signal }

// Stochastic is Lane's oscillator, 0 to 100: where the close is between the lowest low and
// the highest high of the last n candles, in percent, averaged over smooth candles (K),
// and the simple average of K over d candles (D). Value is K; both are ready with candle
// n+smooth+d-2. As in TA-Lib the place is 0 where there is no range.
type Stochastic struct{ stochastic }

// NewStochastic takes the three periods: 14, 3, 3 is the slow stochastic (STOCH in TA-Lib),
// 14, 1, 3 the fast one (STOCHF).
func NewStochastic(n, smooth, d int) Stochastic {
	return Stochastic{newStochastic("NewStochastic", n, smooth, d)}
}

// Add takes the next candle.
func (s *Stochastic) Add(c market.Candle) { s.add(c.High, c.Low, orNaN(c.Close)) }

// StochRSI is the stochastic of RSI(period) instead of prices (Chande and Kroll 1994), ready
// with value number period+n+smooth+d-2. TA-Lib's STOCHRSI has smooth 1.
type StochRSI struct {
	stochastic
	rsi RSI
}

// NewStochRSI takes the period of the RSI and those of the stochastic, usually 14, 14, 3, 3.
func NewStochRSI(period, n, smooth, d int) StochRSI {
	checkPeriod("NewStochRSI", "period", period)
	return StochRSI{stochastic: newStochastic("NewStochRSI", n, smooth, d), rsi: NewRSI(period)}
}

// Add takes the next value.
func (s *StochRSI) Add(x float64) {
	s.rsi.Add(x)
	if s.rsi.Ready() {
		s.add(s.rsi.value, s.rsi.value, s.rsi.value)
	}
}

// WilliamsR is Williams' percent range, -100 to 0: how far the close is below the highest high
// of the last n candles, in percent of their range. Ready with the n-th candle. As in
// TA-Lib it is 0 where there is no range.
type WilliamsR struct {
	line
	high, low peaks
}

// NewWilliamsR looks back over n candles, 1 to MaxPeriod; usually 14.
func NewWilliamsR(n int) WilliamsR {
	checkPeriod("NewWilliamsR", "n", n)
	return WilliamsR{high: newPeaks(n), low: newPeaks(n)}
}

// Add takes the next candle.
func (w *WilliamsR) Add(c market.Candle) {
	top, full := w.high.push(c.High)
	bottom, _ := w.low.push(-c.Low)
	if full {
		w.set(percent(orNaN(c.Close)-top, top+bottom))
	}
}

// CCI is Lambert's commodity channel index: (price - mean) / (0.015 * mean absolute
// deviation) of the typical price over the last n candles, ready with the n-th. It is 0
// where the prices are equal. A mean absolute deviation has no running form: the work per
// candle grows with n, here alone.
type CCI struct {
	line
	prices rolling
	run    run
}

// NewCCI looks back over n candles, 1 to MaxPeriod; usually 20.
func NewCCI(n int) CCI { return CCI{prices: newRolling(checkPeriod("NewCCI", "n", n))} }

// Add takes the next candle.
func (a *CCI) Add(c market.Candle) {
	price, _ := a.prices.add(typicalPrice(c))
	a.run.add(price)
	if !a.prices.full() {
		return
	}
	mean, apart, value := a.prices.mean(), 0.0, 0.0
	for _, x := range a.prices.buf[a.prices.next:] { // the oldest first
		apart += math.Abs(x - mean)
	}
	for _, x := range a.prices.buf[:a.prices.next] {
		apart += math.Abs(x - mean)
	}
	if a.run.length < a.prices.filled && apart > 0 {
		value = (price - mean) / float64(0.015*(apart/float64(a.prices.filled)))
	}
	a.set(a.prices.trusted(value))
}
