package report

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/bootstrap"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// levels is the account over the parts as one line: each part goes on at the level at which the
// one before ended, as the metrics of a walk-forward do.
type levels struct {
	time []market.Time
	// account and holding are in quote currency, holding begins as the account does; nil without.
	account, holding, exposure []float64
}

func (d *run) levels() levels {
	var windows []*artifact.EquityCurve
	held := len(d.parts) > 0
	for _, p := range d.parts {
		windows = append(windows, p.curve)
		held = held && p.holding != nil
	}
	joined := artifact.Join(windows)
	l := levels{time: joined.Time, account: joined.Equity}
	for i, e := range joined.Equity {
		share := 0.0
		if e > 0 {
			share = math.Abs(joined.PositionValue[i]) / e
		}
		l.exposure = append(l.exposure, share)
	}
	if !held {
		return l
	}
	var closes [][]float64
	for _, p := range d.parts {
		closes = append(closes, p.holding)
	}
	l.holding = artifact.JoinHolding(l.account[0], closes)
	return l
}

// underwater is how far a line is below its peak, as a fraction that is not above 0.
func underwater(line []float64) []float64 {
	out, peak := make([]float64, len(line)), math.Inf(-1)
	for i, v := range line {
		if peak = max(peak, v); peak > 0 {
			out[i] = v/peak - 1
		}
	}
	return out
}

// drawdown is one fall below a peak: until the peak is reached again, or open.
type drawdown struct {
	peak, trough, end market.Time
	depth             float64
	open              bool
}

// worst are the deepest drawdowns, at most n.
func worst(times []market.Time, line []float64, n int) []drawdown {
	var out []drawdown
	peak := 0
	var at *drawdown
	for i, v := range line {
		if v >= line[peak] {
			if at != nil {
				at.end = times[i]
				out, at = append(out, *at), nil
			}
			peak = i
			continue
		}
		if line[peak] <= 0 {
			continue
		}
		depth := 1 - v/line[peak]
		if at == nil {
			at = &drawdown{peak: times[peak]}
		}
		if depth > at.depth {
			at.depth, at.trough = depth, times[i]
		}
	}
	if at != nil {
		at.end, at.open = times[len(times)-1], true
		out = append(out, *at)
	}
	slices.SortStableFunc(out, func(a, b drawdown) int {
		switch {
		case a.depth > b.depth:
			return -1
		case a.depth < b.depth:
			return 1
		}
		return 0
	})
	return out[:min(n, len(out))]
}

// year is the returns of a year by month, NaN where there is none.
type year struct {
	number int
	months [12]float64
	whole  float64
}

// monthly are the returns of the line by month and year, UTC. The first month begins with the
// first level.
func monthly(times []market.Time, line []float64) []year {
	var out []year
	month := func(t market.Time) (int, int) {
		u := t.Add(-time.Millisecond).Time() // a close at midnight is of the day before
		return u.Year(), int(u.Month()) - 1
	}
	before, yearBefore := 0.0, 0.0
	for i := range times {
		y, m := month(times[i])
		if i == 0 {
			before, yearBefore = line[0], line[0]
		}
		if len(out) == 0 || out[len(out)-1].number != y {
			fresh := year{number: y, whole: math.NaN()}
			for k := range fresh.months {
				fresh.months[k] = math.NaN()
			}
			out = append(out, fresh)
		}
		last := i == len(times)-1
		nextYear, nextMonth := 0, 0
		if !last {
			nextYear, nextMonth = month(times[i+1])
		}
		if last || nextMonth != m || nextYear != y {
			if before > 0 {
				out[len(out)-1].months[m] = line[i]/before - 1
			}
			before = line[i]
		}
		if last || nextYear != y {
			if yearBefore > 0 {
				out[len(out)-1].whole = line[i]/yearBefore - 1
			}
			yearBefore = line[i]
		}
	}
	return out
}

// The window of rolling numbers, in returns: the usual one, and the least.
const (
	usualWindow = 90
	leastWindow = 20
)

// rolling are the annual Sharpe ratio and volatility over the last window returns.
type rolling struct {
	window             int
	time               []float64
	sharpe, volatility []float64
}

func (d *run) rolling() (r rolling) {
	n := len(d.returns.Return)
	r.window = min(usualWindow, n/3)
	if r.window < leastWindow {
		r.window = 0
		return r
	}
	for i := r.window; i <= n; i++ {
		m, why := stat.Of(d.returns.Return[i-r.window : i])
		s, v := math.NaN(), math.NaN()
		if why == "" && m.SD > 0 {
			root := math.Sqrt(d.returns.PeriodsPerYear)
			s, v = float64(m.Mean/m.SD*root), float64(m.SD*root)
		}
		r.time = append(r.time, float64(d.returns.Time[i-1]))
		r.sharpe, r.volatility = append(r.sharpe, s), append(r.volatility, v)
	}
	return r
}

// orders is how many times the days are drawn again for the doubt about a number.
const orders = 400

// doubt is what the same returns in other orders come to: the 2.5th and 97.5th percentile of the
// total return, the 5th and 95th of the largest drawdown.
type doubt struct {
	returns, drawdowns [2]float64
	block              float64
}

// resample draws the returns again in blocks by the stationary bootstrap, from the seed of the
// run; nil where there are too few.
func (d *run) resample() *doubt {
	x := d.returns.Return
	if len(x) < leastWindow || stat.AllEqual(x) {
		return nil
	}
	block, why := bootstrap.PolitisWhite(x)
	if why != "" {
		return nil
	}
	seed, err := strconv.ParseUint(d.meta.Seed, 10, 64)
	if err != nil {
		seed = 1 // the default, for rows that have none
	}
	q := &doubt{block: max(block.Stationary, 1)}
	var totals, falls []float64
	for i := range orders {
		level, peak, fall := 1.0, 1.0, 0.0
		for _, at := range bootstrap.Indices(random.New(seed, random.Bootstrap, uint64(i)), len(x), q.block) {
			level = float64(level * (1 + x[at]))
			peak = max(peak, level)
			fall = max(fall, 1-level/peak)
		}
		totals, falls = append(totals, level-1), append(falls, fall)
	}
	slices.Sort(totals)
	slices.Sort(falls)
	at := func(list []float64, q float64) float64 { return metric.Round(list[int(q*float64(len(list)-1))]) }
	q.returns = [2]float64{at(totals, 0.025), at(totals, 0.975)}
	q.drawdowns = [2]float64{at(falls, 0.05), at(falls, 0.95)}
	return q
}
