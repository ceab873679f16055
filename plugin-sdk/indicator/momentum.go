package indicator

import (
	"math"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// RSI is Wilder's relative strength index, 0 to 100. It needs n changes, so it is ready
// with value number n+1. Without any loss in its memory it is 100; this includes a
// price that has never moved, for which TA-Lib says 0.
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
	reach := max(c.High-c.Low, math.Abs(c.High-before), math.Abs(c.Low-before))
	if a.average.add(orNaN(reach)) {
		a.set(a.average.value)
	}
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
