package indicator

import (
	"math"

	"github.com/assay-run/assay/plugin-sdk/market"
)

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
