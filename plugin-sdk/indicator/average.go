package indicator

import (
	"fmt"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
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

// VWAP is the volume-weighted average of the typical price (high+low+close)/3 over the
// last n candles, ready with the n-th. While none of them has volume it is the newest
// typical price.
type VWAP struct {
	line
	turnovers, volumes window
	turnover, volume   sum
	traded             int // candles in the window that have volume
}

// NewVWAP is an average over n candles, 1 to MaxPeriod.
func NewVWAP(n int) VWAP {
	checkPeriod("NewVWAP", "n", n)
	return VWAP{turnovers: newWindow(n), volumes: newWindow(n)}
}

// Add takes the next candle.
func (v *VWAP) Add(c market.Candle) {
	typical := typicalPrice(c)
	in, out := v.turnovers.push(float64(typical * c.Volume))
	v.turnover.add(-out)
	v.turnover.add(in)
	in, out = v.volumes.push(c.Volume)
	v.volume.add(-out)
	v.volume.add(in)
	if out != 0 {
		v.traded--
	}
	if in != 0 {
		v.traded++
	}
	if !v.volumes.full() {
		return
	}
	price := typical
	if v.traded > 0 {
		price = v.turnover.hi / v.volume.hi
	}
	v.set(v.turnovers.trusted(price))
}

// SessionVWAP is the volume-weighted average of the typical price (high+low+close)/3
// since the session began, ready with the first candle. While the session has no volume
// it is the newest typical price. Previous may belong to the session before.
type SessionVWAP struct {
	line
	length           market.Time // 0: one session without end
	session          market.Time
	turnover, volume sum
}

// NewSessionVWAP starts over with the first candle that opens in a new session. Sessions
// of the given length, at least a millisecond, follow each other from
// 1970-01-01T00:00:00Z: 24 * time.Hour gives UTC days.
func NewSessionVWAP(length time.Duration) SessionVWAP {
	if length < time.Millisecond {
		panic(fmt.Sprintf("indicator.NewSessionVWAP: length is %s, must be at least 1ms", length))
	}
	return SessionVWAP{length: market.Time(length / time.Millisecond)}
}

// NewCumulativeVWAP averages over everything since the first candle or the last Reset.
func NewCumulativeVWAP() SessionVWAP { return SessionVWAP{} }

// Reset begins a new session with the next candle.
func (v *SessionVWAP) Reset() { v.turnover, v.volume = sum{}, sum{} }

// Add takes the next candle.
func (v *SessionVWAP) Add(c market.Candle) {
	if v.length > 0 {
		start := c.OpenTime - (c.OpenTime%v.length+v.length)%v.length
		if start != v.session {
			v.session = start
			v.Reset()
		}
	}
	price := typicalPrice(c)
	v.turnover.add(orNaN(float64(price * c.Volume)))
	v.volume.add(orNaN(c.Volume))
	if v.volume.hi != 0 || v.turnover.hi != 0 {
		price = v.turnover.hi / v.volume.hi
	}
	v.set(price)
}

func typicalPrice(c market.Candle) float64 { return (c.High + c.Low + c.Close) / 3 }
