package stream

import (
	"math"
	"sort"
	"strconv"

	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// methodAggregate marks points that stand for several candles.
const methodAggregate = "aggregate"

// points is a list of [ms, value, …] that writes itself.
type points struct {
	n     int
	point func(i int) (market.Time, []float64)
}

// MarshalJSON implements json.Marshaler.
func (p points) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 2+48*p.n), '[')
	for i := range p.n {
		if i > 0 {
			b = append(b, ',')
		}
		at, values := p.point(i)
		b = strconv.AppendInt(append(b, '['), int64(at), 10)
		for _, v := range values {
			b = view.AppendNumber(append(b, ','), v)
		}
		b = append(b, ']')
	}
	return append(b, ']'), nil
}

// slice is the points [from, to) of a curve without copying.
func slice(e artifact.EquityCurve, from, to int) artifact.EquityCurve {
	return artifact.EquityCurve{
		Time: e.Time[from:to], Equity: e.Equity[from:to], Cash: e.Cash[from:to],
		PositionValue: e.PositionValue[from:to], Drawdown: e.Drawdown[from:to], Exposure: e.Exposure[from:to],
	}
}

// equityPoints are at most n points [ms, equity, cash, drawdown].
func equityPoints(e artifact.EquityCurve, n int) points {
	picked, _ := metric.ThinEquity(e.Time, e.Equity, n)
	values := make([]float64, 3)
	return points{len(picked), func(i int) (market.Time, []float64) {
		i = picked[i]
		values[0], values[1], values[2] = e.Equity[i], e.Cash[i], e.Drawdown[i]
		return e.Time[i], values
	}}
}

// line is at most n points [ms, value], those to keep among them.
func line(times []market.Time, values []float64, n int, keep ...int) points {
	picked := metric.Thin(times, values, n, keep...)
	return points{len(picked), func(i int) (market.Time, []float64) {
		return times[picked[i]], values[picked[i] : picked[i]+1]
	}}
}

// extremes are the indexes of the lowest and the highest value.
func extremes(values []float64) (low, high int) {
	for i, v := range values {
		if v < values[low] {
			low = i
		}
		if v > values[high] {
			high = i
		}
	}
	return low, high
}

// aggregate is the candles [from, to) as at most n points [ms, open, high, low,
// close, volume]. A point stands for k candles: the first open, the highest high,
// the lowest low, the last close, the sum of the volumes. Points begin at multiples
// of k counted from the begin of the window, so that they stay the same while a
// viewer moves along.
func aggregate(s *market.Series, from, to, n int) points {
	k := max(1, (to-from+n-1)/n)
	for to > from && (to-1)/k-from/k+1 > n {
		k++
	}
	var out []market.Candle
	for at := from; at < to; {
		end := min(to, (at/k+1)*k)
		out = append(out, merge(s, at, end))
		at = end
	}
	values := make([]float64, 5)
	return points{len(out), func(i int) (market.Time, []float64) {
		c := &out[i]
		values[0], values[1], values[2], values[3], values[4] = c.Open, c.High, c.Low, c.Close, c.Volume
		return c.OpenTime, values
	}}
}

func merge(s *market.Series, from, to int) market.Candle {
	c := market.Candle{OpenTime: s.Time[from], Open: s.Open[from], High: math.Inf(-1), Low: math.Inf(1), Close: s.Close[to-1]}
	for i := from; i < to; i++ {
		c.High, c.Low = max(c.High, s.High[i]), min(c.Low, s.Low[i])
		c.Volume += s.Volume[i]
	}
	return c
}

// mark counts the fills that happened from a moment to the next mark.
type mark struct {
	at                     market.Time // open time of a candle
	buys, sells, ambiguous int
}

// countFills counts the fills of the symbol within [from, to) on at most maxPoints
// candles, each an open time of s. Where more candles than that have fills, each mark
// stands for 2, 4, 8, … candles, counted from the begin of the window; no fill is
// left out. It also reports how many fills there are.
func countFills(fills []market.Fill, s *market.Series, r request) ([]mark, int) {
	at := func(t market.Time) int {
		return sort.Search(len(fills), func(i int) bool { return fills[i].Time >= t })
	}
	first, end := 0, len(fills)
	if r.from != 0 {
		first = at(r.from)
	}
	if r.to != 0 {
		end = at(r.to)
	}
	var marks []mark
	var candles []int // of the marks
	of := 0
	for i := first; i < end; i++ {
		f := &fills[i]
		if string(f.Symbol) != r.symbol {
			continue
		}
		of++
		// The candle that is open at the time of the fill; live the time is the venue's.
		c := max(0, sort.Search(s.Len(), func(i int) bool { return s.Time[i] > f.Time })-1)
		if n := len(marks); n == 0 || candles[n-1] != c {
			marks, candles = append(marks, mark{at: s.Time[c]}), append(candles, c)
		}
		marks[len(marks)-1].count(f)
	}
	for k := 2; len(marks) > r.maxPoints; k *= 2 {
		marks, candles = join(marks, candles, k, s)
	}
	return marks, of
}

func (m *mark) count(f *market.Fill) {
	if f.Side == market.Buy {
		m.buys++
	} else {
		m.sells++
	}
	if f.Ambiguous {
		m.ambiguous++
	}
}

// join lets one mark stand for k candles.
func join(marks []mark, candles []int, k int, s *market.Series) ([]mark, []int) {
	n := 0
	for i, m := range marks {
		c := candles[i] / k * k
		if n > 0 && candles[n-1] == c {
			last := &marks[n-1]
			last.buys, last.sells, last.ambiguous = last.buys+m.buys, last.sells+m.sells, last.ambiguous+m.ambiguous
			continue
		}
		m.at = s.Time[c]
		marks[n], candles[n] = m, c
		n++
	}
	return marks[:n], candles[:n]
}

// marksOf are points [ms, buys, sells, ambiguous].
func marksOf(marks []mark) points {
	values := make([]float64, 3)
	return points{len(marks), func(i int) (market.Time, []float64) {
		m := &marks[i]
		values[0], values[1], values[2] = float64(m.buys), float64(m.sells), float64(m.ambiguous)
		return m.at, values
	}}
}
