package indicator

import (
	"fmt"
	"math"
)

// SMA is the simple moving average of the last n values, ready with the n-th.
type SMA struct {
	line
	window window
	total  sum
}

// NewSMA is a moving average over n values, 1 to MaxPeriod.
func NewSMA(n int) SMA {
	return SMA{window: newWindow(checkPeriod("NewSMA", "n", n))}
}

// Add takes the next value.
func (s *SMA) Add(x float64) {
	in, out := s.window.push(x)
	s.total.add(-out)
	s.total.add(in)
	if s.window.full() {
		s.set(s.window.trusted(s.total.hi / float64(s.window.filled)))
	}
}

// WMA is the linearly weighted moving average of the last n values: the newest counts
// n times, the one before n-1 times, the oldest once. Ready with the n-th value.
type WMA struct {
	line
	window   window
	total    sum
	weighted sum
	divisor  float64
}

// NewWMA is a weighted average over n values, 1 to MaxPeriod.
func NewWMA(n int) WMA {
	w := WMA{window: newWindow(checkPeriod("NewWMA", "n", n))}
	w.divisor = float64(n) * float64(n+1) / 2
	return w
}

// Add takes the next value.
func (w *WMA) Add(x float64) {
	if w.window.full() {
		// Every value loses one of its weight; the oldest had one left.
		w.weighted.add(-w.total.hi)
		w.weighted.add(-w.total.lo)
	}
	in, out := w.window.push(x)
	w.total.add(-out)
	w.total.add(in)
	w.weighted.addProduct(float64(w.window.filled), in)
	if w.window.full() {
		w.set(w.window.trusted(w.weighted.hi / w.divisor))
	}
}

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

// DEMA is the double exponential average 2*EMA - EMA(EMA), which lags less (Mulloy 1994).
// The second average starts as EMA does with the first values of the first, as in TA-Lib,
// so DEMA is ready with value number 2n-1.
type DEMA struct {
	line
	first, second ema
}

// NewDEMA is a double average of period n, 1 to MaxPeriod.
func NewDEMA(n int) DEMA {
	average := newEMA(checkPeriod("NewDEMA", "n", n))
	return DEMA{first: average, second: average}
}

// Add takes the next value.
func (d *DEMA) Add(x float64) {
	if d.first.add(x) && d.second.add(d.first.value) {
		d.set(float64(2*d.first.value) - d.second.value)
	}
}

// TEMA is the triple exponential average 3*EMA - 3*EMA(EMA) + EMA(EMA(EMA)) (Mulloy 1994),
// ready with value number 3n-2, as in TA-Lib.
type TEMA struct {
	line
	first, second, third ema
}

// NewTEMA is a triple average of period n, 1 to MaxPeriod.
func NewTEMA(n int) TEMA {
	average := newEMA(checkPeriod("NewTEMA", "n", n))
	return TEMA{first: average, second: average, third: average}
}

// Add takes the next value.
func (t *TEMA) Add(x float64) {
	if t.first.add(x) && t.second.add(t.first.value) && t.third.add(t.second.value) {
		t.set(t.third.value + (float64(3*t.first.value) - float64(3*t.second.value)))
	}
}

// KAMA is Kaufman's adaptive average. Its weight goes from that of EMA(slow), where the
// last n changes cancel out, to that of EMA(fast), where all go one way:
// ((e * (2/(fast+1) - 2/(slow+1))) + 2/(slow+1))^2, e being the move over n values divided
// by the sum of the n changes. It starts from value number n, and is ready with the next.
// As in TA-Lib e is 1 where nothing moved.
type KAMA struct {
	line
	values      window
	changes     rolling
	low, spread float64 // the slow weight, and what the fast one has more
	average     float64
}

// NewKAMA takes the three periods, usually 10, 2, 30; fast must be below slow.
func NewKAMA(n, fast, slow int) KAMA {
	checkPeriod("NewKAMA", "n", n)
	checkPeriod("NewKAMA", "fast", fast)
	checkPeriod("NewKAMA", "slow", slow)
	if fast >= slow {
		panic(fmt.Sprintf("indicator.NewKAMA: fast is %d, must be below slow (%d)", fast, slow))
	}
	low := 2 / float64(slow+1)
	return KAMA{values: newWindow(n + 1), changes: newRolling(n), low: low, spread: 2/float64(fast+1) - low}
}

// Add takes the next value.
func (k *KAMA) Add(x float64) {
	x = orNaN(x)
	if k.values.filled > 0 {
		k.changes.add(math.Abs(x - k.values.newest()))
	}
	k.values.push(x)
	if !k.values.full() {
		k.average = x + float64(k.average*0) // NaN stays
		return
	}
	moved, path, efficiency := math.Abs(x-k.values.oldest()), k.changes.total(), 1.0
	if moved < path {
		efficiency = moved / path
	}
	weight := float64(efficiency*k.spread) + k.low
	k.average += float64((x - k.average) * float64(weight*weight))
	k.set(k.average)
}

// HMA is Hull's moving average: WMA over sqrt(n) values of 2*WMA(n/2) - WMA(n), where n/2
// and sqrt(n) are rounded down, to 1 at least. Ready with value number n+sqrt(n)-1.
type HMA struct {
	line
	half, whole, smooth WMA
}

// NewHMA is an average of period n, 1 to MaxPeriod.
func NewHMA(n int) HMA {
	checkPeriod("NewHMA", "n", n)
	return HMA{half: NewWMA(max(1, n/2)), whole: NewWMA(n), smooth: NewWMA(int(math.Sqrt(float64(n))))}
}

// Add takes the next value.
func (h *HMA) Add(x float64) {
	h.half.Add(x)
	h.whole.Add(x)
	if !h.whole.Ready() {
		return
	}
	h.smooth.Add(float64(2*h.half.value) - h.whole.value)
	if h.smooth.Ready() {
		h.set(h.smooth.value)
	}
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
