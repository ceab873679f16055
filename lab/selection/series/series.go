package series

import (
	"cmp"
	"slices"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Series is the returns of a stitched walk-forward. All columns have one length.
type Series struct {
	// Date is 00:00 UTC of the day in which the return ends, or the open of its candle
	// where candles are a day or longer. Overlapping windows repeat dates.
	Date   []market.Time
	Return []float64
	// From and To are the step closes between which the return was made.
	From, To []market.Time
	// NetExposure is the mean over the returns of position value over equity at From:
	// negative when more was sold short. Only the ends of days are looked at, so that a
	// compact artifact and a full one agree; what is opened and closed within a day counts
	// as nothing.
	NetExposure float64
}

// Of stitches curves, each of which begins flat with its own cash. The calendar is that
// of the metrics. The reason is TooFewReturns below the ten day returns that metrics-v1
// takes for its main sample, NotApplicable for an account that had nothing left on its
// first day; the error is a *metric.InputError.
func Of(tf market.Timeframe, calendar string, curves []Curve) (*Series, stat.Reason, error) {
	in := metric.Input{Timeframe: tf, Calendar: calendar}
	thin := make([]Curve, len(curves))
	for i, c := range curves {
		open := opens(c, tf)
		ends := metric.DayEnds(open)
		thin[i] = c.at(ends)
		if len(ends) > 0 && thin[i].Equity[0] <= 0 {
			return nil, stat.NotApplicable, nil
		}
		window := metric.Curve{CloseTime: thin[i].Time, Equity: thin[i].Equity, Exposure: make([]float64, len(ends))}
		for _, k := range ends {
			window.OpenTime = append(window.OpenTime, open[k])
		}
		in.Curves = append(in.Curves, window)
	}
	returns, err := metric.MainReturns(in)
	if err != nil {
		return nil, "", err
	}
	if len(returns.Return) == 0 || returns.Sample == metric.SampleCandle && shortCandles(tf) {
		return nil, stat.TooFewReturns, nil
	}
	out := &Series{Date: returns.Time, Return: returns.Return}
	var exposure stat.Accumulator
	for _, c := range thin {
		for k := 1; k < len(c.Time) && c.Equity[k-1] > 0; k++ {
			out.From, out.To = append(out.From, c.Time[k-1]), append(out.To, c.Time[k])
			exposure.Add(c.Position[k-1] / c.Equity[k-1])
		}
	}
	out.NetExposure = exposure.Value() / float64(len(out.Return))
	if _, why := stat.Finite(out.NetExposure); why != "" {
		return nil, why, nil
	}
	return out, "", nil
}

// shortCandles says that metrics-v1 prefers days over these candles.
func shortCandles(tf market.Timeframe) bool {
	return tf.Approx() < market.MustTimeframe("1d").Approx()
}

// opens are when the candles opened that close at the rows of a curve.
func opens(c Curve, tf market.Timeframe) []market.Time {
	out := make([]market.Time, len(c.Time))
	for i, t := range c.Time {
		out[i] = t.Add(-tf.Approx())
	}
	return out
}

// at is some rows of a curve.
func (c Curve) at(rows []int) Curve {
	var out Curve
	for _, k := range rows {
		out.Time = append(out.Time, c.Time[k])
		out.Equity, out.Position = append(out.Equity, c.Equity[k]), append(out.Position, c.Position[k])
	}
	return out
}

// moment is a date and which of its repetitions is meant.
type moment struct {
	at  market.Time
	nth int
}

// Places is where dates stand in a series.
type Places struct {
	of    *Series
	index map[moment]int
}

// Places makes the series ready to be asked for dates.
func (s *Series) Places() *Places {
	p := &Places{of: s, index: make(map[moment]int, len(s.Date))}
	for i, m := range s.moments() {
		p.index[m] = i
	}
	return p
}

// Shared is which of its dates another series has a return on: where they stand, ascending,
// and the returns of the other one there.
func (p *Places) Shared(other *Series) (at []int, returns []float64) {
	if slices.Equal(p.of.Date, other.Date) {
		for i := range other.Date {
			at = append(at, i)
		}
		return at, other.Return
	}
	type entry struct {
		at int
		r  float64
	}
	var list []entry
	for i, m := range other.moments() {
		if k, has := p.index[m]; has {
			list = append(list, entry{k, other.Return[i]})
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	for _, e := range list {
		at, returns = append(at, e.at), append(returns, e.r)
	}
	return at, returns
}

func (s *Series) moments() []moment {
	seen := make(map[market.Time]int, len(s.Date))
	out := make([]moment, len(s.Date))
	for i, d := range s.Date {
		out[i] = moment{d, seen[d]}
		seen[d]++
	}
	return out
}

// On finds the returns of s at the dates of another series, in its order: where it has
// one at each of them, the nth at the nth repetition of a date. covers is false
// otherwise. The net exposure stays that of the whole.
func (s *Series) On(other *Series) (_ *Series, covers bool) {
	if slices.Equal(s.Date, other.Date) {
		return s, true
	}
	index := make(map[moment]int, len(s.Date))
	for i, m := range s.moments() {
		index[m] = i
	}
	out := &Series{NetExposure: s.NetExposure}
	for _, m := range other.moments() {
		i, has := index[m]
		if !has {
			return nil, false
		}
		out.Date, out.Return = append(out.Date, s.Date[i]), append(out.Return, s.Return[i])
		out.From, out.To = append(out.From, s.From[i]), append(out.To, s.To[i])
	}
	return out, true
}
