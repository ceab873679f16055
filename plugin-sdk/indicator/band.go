package indicator

import (
	"math"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// StdDev is the population standard deviation (divisor n, as in TA-Lib) of the last n
// values, ready with the n-th. It is exactly 0 when all of them are equal.
type StdDev struct {
	line
	moments
}

// NewStdDev is a standard deviation over n values, 1 to MaxPeriod.
func NewStdDev(n int) StdDev {
	return StdDev{moments: newMoments(checkPeriod("NewStdDev", "n", n))}
}

// Add takes the next value.
func (s *StdDev) Add(x float64) {
	s.moments.add(x)
	if s.full() {
		s.set(s.trusted(math.Sqrt(s.variance())))
	}
}

// Bollinger is a band of k population standard deviations around the simple average of
// the last n values, ready with the n-th. Value is Middle.
type Bollinger struct {
	line
	deviation    StdDev
	k            float64
	upper, lower line
}

// NewBollinger takes the period, 1 to MaxPeriod, and the width k in standard deviations,
// finite and above 0; usually 20 and 2.
func NewBollinger(n int, k float64) Bollinger {
	checkPeriod("NewBollinger", "n", n)
	return Bollinger{deviation: NewStdDev(n), k: checkWidth("NewBollinger", "k", k)}
}

// Add takes the next value.
func (b *Bollinger) Add(x float64) {
	b.deviation.Add(x)
	if !b.deviation.Ready() {
		return
	}
	middle := b.deviation.trusted(b.deviation.mean())
	reach := float64(b.k * b.deviation.value)
	b.set(middle)
	b.upper.set(middle + reach)
	b.lower.set(middle - reach)
}

// Upper is Middle plus k deviations.
func (b *Bollinger) Upper() float64 { return b.upper.value }

// Middle is the simple average.
func (b *Bollinger) Middle() float64 { return b.value }

// Lower is Middle minus k deviations.
func (b *Bollinger) Lower() float64 { return b.lower.value }

// UpperLine is Upper as a line, for crossings.
func (b *Bollinger) UpperLine() Line { return &b.upper }

// LowerLine is Lower as a line, for crossings.
func (b *Bollinger) LowerLine() Line { return &b.lower }

// Highest is the largest of the last n values, the newest included. Ready with the n-th.
type Highest struct {
	line
	peaks peaks
}

// NewHighest looks back over n values, 1 to MaxPeriod.
func NewHighest(n int) Highest {
	return Highest{peaks: newPeaks(checkPeriod("NewHighest", "n", n))}
}

// Add takes the next value.
func (h *Highest) Add(x float64) {
	if top, ok := h.peaks.push(x); ok {
		h.set(top)
	}
}

// Lowest is the smallest of the last n values, the newest included. Ready with the n-th.
type Lowest struct {
	line
	peaks peaks
}

// NewLowest looks back over n values, 1 to MaxPeriod.
func NewLowest(n int) Lowest {
	return Lowest{peaks: newPeaks(checkPeriod("NewLowest", "n", n))}
}

// Add takes the next value.
func (l *Lowest) Add(x float64) {
	if top, ok := l.peaks.push(-x); ok {
		l.set(-top)
	}
}

// Donchian is the channel between the highest high and the lowest low of the last n
// candles, ready with the n-th. Value is Middle.
//
// The newest candle is part of the channel, so a close is never outside it: a breakout
// is a close beyond UpperLine().Previous() or LowerLine().Previous().
type Donchian struct {
	line
	upper Highest
	lower Lowest
}

// NewDonchian is a channel over n candles, 1 to MaxPeriod; usually 20.
func NewDonchian(n int) Donchian {
	checkPeriod("NewDonchian", "n", n)
	return Donchian{upper: NewHighest(n), lower: NewLowest(n)}
}

// Add takes the next candle.
func (d *Donchian) Add(c market.Candle) {
	d.upper.Add(c.High)
	d.lower.Add(c.Low)
	if d.upper.Ready() {
		d.set((d.upper.value + d.lower.value) / 2)
	}
}

// Upper is the highest high.
func (d *Donchian) Upper() float64 { return d.upper.value }

// Middle is halfway between Upper and Lower.
func (d *Donchian) Middle() float64 { return d.value }

// Lower is the lowest low.
func (d *Donchian) Lower() float64 { return d.lower.value }

// UpperLine is Upper as a line, for crossings and its previous value.
func (d *Donchian) UpperLine() Line { return &d.upper.line }

// LowerLine is Lower as a line, for crossings and its previous value.
func (d *Donchian) LowerLine() Line { return &d.lower.line }

// Keltner is a band of k average true ranges around an exponential average of the close:
// EMA(n) and ATR(period) of this package, as Raschke has it. Value is Middle; all three are
// ready with candle n or period+1, whichever is later. KC of TA-Lib averages the typical
// price instead, and begins its ranges later.
type Keltner struct {
	line
	middle       ema
	reach        ATR
	k            float64
	upper, lower line
}

// NewKeltner takes the periods of the average and of the ranges, 1 to MaxPeriod, and the
// width k in ranges, finite and above 0; usually 20, 10 and 2.
func NewKeltner(n, period int, k float64) Keltner {
	checkPeriod("NewKeltner", "period", period)
	return Keltner{middle: newEMA(checkPeriod("NewKeltner", "n", n)), reach: NewATR(period),
		k: checkWidth("NewKeltner", "k", k)}
}

// Add takes the next candle.
func (b *Keltner) Add(c market.Candle) {
	b.reach.Add(c)
	if !b.middle.add(c.Close) || !b.reach.Ready() {
		return
	}
	reach := float64(b.k * b.reach.value)
	b.set(b.middle.value)
	b.upper.set(b.middle.value + reach)
	b.lower.set(b.middle.value - reach)
}

// Upper is Middle plus k ranges.
func (b *Keltner) Upper() float64 { return b.upper.value }

// Middle is the exponential average.
func (b *Keltner) Middle() float64 { return b.value }

// Lower is Middle minus k ranges.
func (b *Keltner) Lower() float64 { return b.lower.value }

// UpperLine is Upper as a line, for crossings.
func (b *Keltner) UpperLine() Line { return &b.upper }

// LowerLine is Lower as a line, for crossings.
func (b *Keltner) LowerLine() Line { return &b.lower }

// peaks keeps those of the last n values that no later one has reached, oldest and
// largest first, in a ring: each value enters once and leaves once.
type peaks struct {
	value      []float64
	at         []int
	head, size int
	added      int
}

func newPeaks(n int) peaks {
	return peaks{value: make([]float64, n), at: make([]int, n)}
}

// push returns the largest of the last n values, and whether there were n. A value that
// is not usable counts as larger than all until it has left.
func (p *peaks) push(x float64) (top float64, full bool) {
	n := len(p.value)
	if n == 0 {
		panic(notMade)
	}
	x = orNaN(x)
	if p.size > 0 && p.at[p.head] == p.added-n {
		p.head = p.slot(1)
		p.size--
	}
	for p.size > 0 && (x >= p.value[p.slot(p.size-1)] || x != x) {
		p.size--
	}
	last := p.slot(p.size)
	p.value[last], p.at[last] = x, p.added
	p.size++
	p.added++
	return p.value[p.head], p.added >= n
}

// age is how many values ago the peak was.
func (p *peaks) age() int { return p.added - 1 - p.at[p.head] }

// slot is where the i-th peak after the head is.
func (p *peaks) slot(i int) int {
	if i += p.head; i >= len(p.value) {
		i -= len(p.value)
	}
	return i
}
