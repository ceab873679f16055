package indicator

import (
	"math"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/markcheno/go-talib"
)

func TestEMAByHand(t *testing.T) {
	nan := math.NaN()
	three := NewEMA(3)
	seq(t, &three, []float64{1, 2, 6, 5, 0}, []float64{nan, nan, 3, 4, 2})
	one := NewEMA(1)
	seq(t, &one, []float64{1, 1e17, 0.1}, []float64{1, 1e17, 0.1})
}

func TestEMAAgainstTALib(t *testing.T) {
	onSamples(t, func(t *testing.T, candles []market.Candle) {
		in := column(candles, closeOf)
		for _, n := range periods() {
			want := talib.Ema(in, n)
			e := NewEMA(n)
			for i, x := range in {
				e.Add(x)
				ready(t, "EMA", &e, i, n-1)
				near(t, "EMA", i, e.Value(), want[i], 1e-12)
			}
		}
	})
}

// The line is compared from its first value. The signal of the Go port is seeded with
// zeros where the line has no value yet; it is compared once that is forgotten.
func TestMACDAgainstTALib(t *testing.T) {
	onSamples(t, func(t *testing.T, candles []market.Candle) {
		in := column(candles, closeOf)
		for _, p := range [][3]int{{12, 26, 9}, {3, 10, 16}, {1, 2, 1}} {
			lines, signals, histograms := talib.Macd(in, p[0], p[1], p[2])
			m := NewMACD(p[0], p[1], p[2])
			first := p[1] + p[2] - 2
			for i, x := range in {
				m.Add(x)
				ready(t, "MACD", &m, i, first)
				ready(t, "signal", m.SignalLine(), i, first)
				ready(t, "histogram", m.HistogramLine(), i, first)
				if i < first {
					continue
				}
				near(t, "line", i, m.Line(), lines[i], 1e-9)
				if i > first+400 {
					near(t, "signal", i, m.Signal(), signals[i], 1e-9)
					near(t, "histogram", i, m.Histogram(), histograms[i], 1e-9)
				}
			}
		}
	})
}

// MACD is made of this package's EMA, from the first value on.
func TestMACDIsBuiltFromEMA(t *testing.T) {
	fast, slow, signal := NewEMA(12), NewEMA(26), NewEMA(9)
	m := NewMACD(12, 26, 9)
	for i, c := range walk(9, 500, 100) {
		fast.Add(c.Close)
		slow.Add(c.Close)
		if slow.Ready() {
			signal.Add(fast.Value() - slow.Value())
		}
		m.Add(c.Close)
		if m.Ready() != signal.Ready() {
			t.Fatalf("candle %d: ready %v, want %v", i, m.Ready(), signal.Ready())
		}
		if !m.Ready() {
			continue
		}
		line := fast.Value() - slow.Value()
		if m.Line() != line || m.Value() != line || m.Signal() != signal.Value() ||
			m.Histogram() != line-signal.Value() {
			t.Fatalf("candle %d: %g %g %g", i, m.Line(), m.Signal(), m.Histogram())
		}
	}
}
