package indicator

import "fmt"

// EMA is the exponential moving average with weight 2/(n+1). As in TA-Lib, the first
// value comes with the n-th and is the simple average of the first n; from then on
// value += (x - value) * 2/(n+1).
type EMA struct {
	line
	average ema
}

// NewEMA is an exponential average of period n, 1 to MaxPeriod.
func NewEMA(n int) EMA { return EMA{average: newEMA(checkPeriod("NewEMA", "n", n))} }

// Add takes the next value.
func (e *EMA) Add(x float64) {
	if e.average.add(x) {
		e.set(e.average.value)
	}
}

// ema is the average itself, shared with MACD.
type ema struct {
	value, weight float64
	period, seen  int
}

func newEMA(n int) ema { return ema{weight: 2 / float64(n+1), period: n} }

// add reports whether there is a value.
func (e *ema) add(x float64) bool {
	if e.period == 0 {
		panic(notMade)
	}
	x = orNaN(x)
	if e.period == 1 {
		e.value = x // the formula below would round twice
		return true
	}
	if e.seen == e.period {
		e.value += float64((x - e.value) * e.weight)
		return true
	}
	e.seen++
	e.value += x
	if e.seen < e.period {
		return false
	}
	e.value /= float64(e.period)
	return true
}

// MACD is the difference of a fast and a slow EMA, the EMA of that difference (the
// signal), and the distance of the two (the histogram). Ready with value number
// slow+signal-1, all three at once; Value is Line.
//
// Both averages start as EMA does, each from its own first values, so Line is exactly
// EMA(fast) - EMA(slow). The C TA-Lib begins the fast one later; the two conventions
// differ for the first few slow periods only.
type MACD struct {
	line
	fast, slow, average ema
	signal, histogram   line
}

// NewMACD takes the three periods, usually 12, 26, 9; fast must be below slow.
func NewMACD(fast, slow, signal int) MACD {
	checkPeriod("NewMACD", "fast", fast)
	checkPeriod("NewMACD", "slow", slow)
	checkPeriod("NewMACD", "signal", signal)
	if fast >= slow {
		panic(fmt.Sprintf("indicator.NewMACD: fast is %d, must be below slow (%d)", fast, slow))
	}
	return MACD{fast: newEMA(fast), slow: newEMA(slow), average: newEMA(signal)}
}

// Add takes the next value.
func (m *MACD) Add(x float64) {
	m.fast.add(x)
	if !m.slow.add(x) {
		return
	}
	difference := m.fast.value - m.slow.value
	if !m.average.add(difference) {
		return
	}
	m.set(difference)
	m.signal.set(m.average.value)
	m.histogram.set(difference - m.average.value)
}

// Line is the fast average minus the slow one.
func (m *MACD) Line() float64 { return m.value }

// Signal is the average of Line.
func (m *MACD) Signal() float64 { return m.signal.value }

// Histogram is Line minus Signal.
func (m *MACD) Histogram() float64 { return m.histogram.value }

// SignalLine is Signal as a line, for m.CrossedAbove(m.SignalLine()).
func (m *MACD) SignalLine() Line { return &m.signal }

// HistogramLine is Histogram as a line.
func (m *MACD) HistogramLine() Line { return &m.histogram }
