package indicator

import (
	"fmt"
	"math"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// ADX is Wilder's average directional index, 0 to 100, with the two directional indicators:
// +DI and -DI are the smoothed moves of the highs up and of the lows down, in percent of the
// smoothed true range, ADX the smoothed distance of the two in percent of their sum. Value
// is ADX; all three are ready with candle 2n, where TA-Lib has the indicators earlier.
//
// As in TA-Lib the first smoothed sum is that of n-1 candles, from then on
// sum - sum/n + x. Where neither indicator moves the distance counts 0; TA-Lib keeps ADX.
type ADX struct {
	line
	n              float64
	before         market.Candle
	seen           int // candles
	up, down, path float64
	average        wilder
	plus, minus    line
}

// NewADX is an index of period n, 1 to MaxPeriod; usually 14.
func NewADX(n int) ADX {
	return ADX{n: float64(checkPeriod("NewADX", "n", n)), average: newWilder(n)}
}

// Add takes the next candle.
func (a *ADX) Add(c market.Candle) {
	if a.n == 0 {
		panic(notMade)
	}
	before := a.before
	a.before = c
	if a.seen++; a.seen == 1 {
		return
	}
	up, down := c.High-before.High, before.Low-c.Low
	switch {
	case up > down && up > 0:
		down = 0
	case down > up && down > 0:
		up = 0
	default:
		up, down = 0, 0
	}
	path := trueRange(c, before.Close)
	if a.seen > int(a.n) {
		up, down, path = up-a.up/a.n, down-a.down/a.n, path-a.path/a.n
	}
	a.up, a.down, a.path = a.up+up, a.down+down, a.path+path
	if a.seen <= int(a.n) {
		return
	}
	plus, minus := percent(a.up, a.path), percent(a.down, a.path)
	if a.average.add(percent(math.Abs(plus-minus), plus+minus)) {
		a.set(a.average.value)
		a.plus.set(plus)
		a.minus.set(minus)
	}
}

// Plus is +DI.
func (a *ADX) Plus() float64 { return a.plus.value }

// Minus is -DI.
func (a *ADX) Minus() float64 { return a.minus.value }

// PlusLine is +DI as a line.
func (a *ADX) PlusLine() Line { return &a.plus }

// MinusLine is -DI as a line.
func (a *ADX) MinusLine() Line { return &a.minus }

// Aroon is Chande's oscillator: Up is 100 * (n - candles since the highest high) / n over
// the last n+1 candles, Down the same for the lowest low, Value is Up - Down. Of equal
// highs the newest counts. Ready with candle n+1.
type Aroon struct {
	line
	n         int
	high, low peaks
	up, down  line
}

// NewAroon looks n candles back, 1 to MaxPeriod; usually 14 or 25.
func NewAroon(n int) Aroon {
	checkPeriod("NewAroon", "n", n)
	return Aroon{n: n, high: newPeaks(n + 1), low: newPeaks(n + 1)}
}

// Add takes the next candle.
func (a *Aroon) Add(c market.Candle) {
	top, full := a.high.push(c.High)
	bottom, _ := a.low.push(-c.Low)
	if !full {
		return
	}
	up := float64(100*(a.n-a.high.age())) / float64(a.n)
	down := float64(100*(a.n-a.low.age())) / float64(a.n)
	if top != top || bottom != bottom {
		up, down = math.NaN(), math.NaN()
	}
	a.set(up - down)
	a.up.set(up)
	a.down.set(down)
}

// Up is 100 when this candle has the highest high, 0 when it was n candles ago.
func (a *Aroon) Up() float64 { return a.up.value }

// Down is 100 when this candle has the lowest low, 0 when it was n candles ago.
func (a *Aroon) Down() float64 { return a.down.value }

// UpLine is Up as a line, for crossings.
func (a *Aroon) UpLine() Line { return &a.up }

// DownLine is Down as a line, for crossings.
func (a *Aroon) DownLine() Line { return &a.down }

// ParabolicSAR is Wilder's stop and reverse: it follows a rise from below and a fall from
// above by a growing share of its distance to the extreme, and changes sides when a candle
// touches it. It is never inside this candle or the one before. Ready with the second
// candle; as in TA-Lib the first trend is up unless the low fell by more than the high rose.
type ParabolicSAR struct {
	line
	step, limit   float64
	high, low     float64 // of the candle before
	extreme, pace float64
	next          float64
	seen          int
	long          bool
}

// NewParabolicSAR takes the growth of the share and its largest value, usually 0.02 and 0.2:
// both finite and above 0, step at most limit.
func NewParabolicSAR(step, limit float64) ParabolicSAR {
	checkWidth("NewParabolicSAR", "step", step)
	checkWidth("NewParabolicSAR", "limit", limit)
	if step > limit {
		panic(fmt.Sprintf("indicator.NewParabolicSAR: step is %g, must be at most limit (%g)", step, limit))
	}
	return ParabolicSAR{step: step, limit: limit}
}

// Long reports whether the line follows a rise from below.
func (p *ParabolicSAR) Long() bool { return p.long }

// Add takes the next candle.
func (p *ParabolicSAR) Add(c market.Candle) {
	if p.step == 0 {
		panic(notMade)
	}
	high, low := p.high, p.low
	p.high, p.low = orNaN(c.High), orNaN(c.Low)
	if p.seen++; p.seen == 1 {
		return
	}
	if p.seen == 2 {
		p.long = !(low-p.low > 0 && low-p.low > p.high-high)
		p.next, p.extreme = high, p.low
		if p.long {
			p.next, p.extreme = low, p.high
		}
		p.pace = p.step
		high, low = p.high, p.low
	}
	side, top, bottom := 1.0, p.high, p.low
	if !p.long { // a fall is a rise upside down
		side, top, bottom, high, low = -1, -p.low, -p.high, -low, -high
	}
	stop, extreme := side*p.next, side*p.extreme
	if top != top || bottom != bottom {
		stop = math.NaN()
	}
	if bottom <= stop {
		stop = max(extreme, high, top)
		p.set(side * stop)
		p.long, p.pace, extreme = !p.long, p.step, bottom
		stop = max(stop+float64(p.pace*(extreme-stop)), high, top)
	} else {
		p.set(side * stop)
		if top > extreme {
			extreme, p.pace = top, min(p.pace+p.step, p.limit)
		}
		stop = min(stop+float64(p.pace*(extreme-stop)), low, bottom)
	}
	p.next, p.extreme = side*stop, side*extreme
}

// SuperTrend is a stop k average true ranges (ATR of this package) from the middle of the
// candle, (high+low)/2: below the price in a rise, above it in a fall. It never moves
// away from the price, and changes sides when a close is beyond it. Ready with candle
// n+1, in a rise, as TA-Lib's begins (TradingView's begins in a fall).
type SuperTrend struct {
	line
	reach        ATR
	k            float64
	upper, lower float64
	close        float64
	long         bool
}

// NewSuperTrend takes the period of the ranges, 1 to MaxPeriod, and the distance k in
// ranges, finite and above 0; usually 10 and 3.
func NewSuperTrend(n int, k float64) SuperTrend {
	checkPeriod("NewSuperTrend", "n", n)
	return SuperTrend{reach: NewATR(n), k: checkWidth("NewSuperTrend", "k", k)}
}

// Long reports whether the line follows a rise from below.
func (s *SuperTrend) Long() bool { return s.long }

// Add takes the next candle.
func (s *SuperTrend) Add(c market.Candle) {
	before := s.close
	s.close = c.Close
	if s.reach.Add(c); !s.reach.Ready() {
		return
	}
	middle, reach := (c.High+c.Low)/2, float64(s.k*s.reach.value)
	upper, lower := middle+reach, middle-reach
	if s.count == 0 {
		s.long = true
	} else {
		if upper >= s.upper && before <= s.upper {
			upper = s.upper
		}
		if lower <= s.lower && before >= s.lower {
			lower = s.lower
		}
		if s.long {
			s.long = !(c.Close < lower)
		} else {
			s.long = c.Close > upper
		}
	}
	s.upper, s.lower = upper, lower
	if s.long {
		s.set(lower)
	} else {
		s.set(upper)
	}
}

// Ichimoku is Hosoda's cloud. The conversion and base lines are the middles of the highest
// high and lowest low over their periods; SpanA is the middle of the two, SpanB that of
// the range over span candles. The spans are drawn base candles ahead, so those at this
// candle, which the methods have, are of base candles ago. The lagging span is the close, drawn
// back: compare the close with that of base candles ago. Value is Conversion; all are
// ready with candle span+base.
type Ichimoku struct {
	line
	conversion, base, span Donchian
	pastA, pastB           window
	baseLine, spanA, spanB line
}

// NewIchimoku takes the three periods, usually 9, 26, 52; conversion and base must not be above
// span.
func NewIchimoku(conversion, base, span int) Ichimoku {
	checkPeriod("NewIchimoku", "conversion", conversion)
	checkPeriod("NewIchimoku", "base", base)
	checkPeriod("NewIchimoku", "span", span)
	if conversion > span || base > span {
		panic(fmt.Sprintf("indicator.NewIchimoku: conversion is %d and base %d, must be at most span (%d)",
			conversion, base, span))
	}
	return Ichimoku{conversion: NewDonchian(conversion), base: NewDonchian(base), span: NewDonchian(span),
		pastA: newWindow(base + 1), pastB: newWindow(base + 1)}
}

// Add takes the next candle.
func (i *Ichimoku) Add(c market.Candle) {
	i.conversion.Add(c)
	i.base.Add(c)
	i.span.Add(c)
	if !i.span.Ready() {
		return
	}
	i.pastA.push((i.conversion.value + i.base.value) / 2)
	i.pastB.push(i.span.value)
	if !i.pastA.full() {
		return
	}
	i.set(i.conversion.value)
	i.baseLine.set(i.base.value)
	i.spanA.set(i.pastA.trusted(i.pastA.oldest()))
	i.spanB.set(i.pastB.trusted(i.pastB.oldest()))
}

// Conversion is the fast line (tenkan-sen).
func (i *Ichimoku) Conversion() float64 { return i.value }

// Base is the slow line (kijun-sen).
func (i *Ichimoku) Base() float64 { return i.baseLine.value }

// SpanA is the faster edge of the cloud at this candle (senkou span A).
func (i *Ichimoku) SpanA() float64 { return i.spanA.value }

// SpanB is the slower edge of the cloud at this candle (senkou span B).
func (i *Ichimoku) SpanB() float64 { return i.spanB.value }

// BaseLine is Base as a line, for crossings.
func (i *Ichimoku) BaseLine() Line { return &i.baseLine }

// SpanALine is SpanA as a line, for crossings.
func (i *Ichimoku) SpanALine() Line { return &i.spanA }

// SpanBLine is SpanB as a line, for crossings.
func (i *Ichimoku) SpanBLine() Line { return &i.spanB }
