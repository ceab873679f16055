package metric

import (
	"math"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

var ratioMetrics = []Metric{
	{Key: "sharpe_ratio", Unit: Ratio, Estimate: true, eval: onMain((*sample).sharpe),
		Doc: "Annualised mean return over its standard deviation, risk-free rate 0, on the main sample."},
	{Key: "sharpe_ratio_candle", Unit: Ratio, Estimate: true, eval: onCandle((*sample).sharpe),
		Doc: "The Sharpe ratio of candle returns."},
	{Key: "sortino_ratio", Unit: Ratio, Estimate: true, eval: onMain((*sample).sortino),
		Doc: "Annualised mean return over the root mean square of the negative returns, taken over all " +
			"returns."},
	{Key: "sortino_ratio_candle", Unit: Ratio, Estimate: true, eval: onCandle((*sample).sortino),
		Doc: "The Sortino ratio of candle returns."},
	{Key: "volatility", Unit: Fraction, Estimate: true, eval: onMain((*sample).volatility),
		Doc: "Annualised standard deviation of the returns of the main sample."},
	{Key: "volatility_candle", Unit: Fraction, Estimate: true, eval: onCandle((*sample).volatility),
		Doc: "Annualised standard deviation of candle returns."},
	{Key: "sharpe_stderr", Unit: Ratio, Estimate: true, eval: onMain((*sample).sharpeStdErr),
		Doc: "Standard error of sharpe_ratio, allowing for skewed and fat-tailed returns."},
	{Key: "psr", Unit: Fraction, Estimate: true, CPUDependent: true, eval: onMain((*sample).psr),
		Doc: "Probability that the true Sharpe ratio is above 0, given the returns of the main sample."},
}

// dispersed is why the returns cannot be divided by their deviation.
func (s *sample) dispersed() Reason {
	switch {
	case s.n < 2:
		return TooFewReturns
	case s.allEqual:
		return ZeroVariance
	}
	return ""
}

func (s *sample) sharpe() (float64, Reason) {
	return s.mean / s.std * math.Sqrt(s.periods), s.dispersed()
}

func (s *sample) sortino() (x float64, why Reason) {
	if !s.losing {
		why = NoLosses
	}
	return s.mean / s.downside * math.Sqrt(s.periods), why
}

func (s *sample) volatility() (x float64, why Reason) {
	if s.n < 2 {
		why = TooFewReturns
	}
	return s.std * math.Sqrt(s.periods), why
}

// sharpeVariance returns the Sharpe ratio per return and the variance of its estimate.
func (s *sample) sharpeVariance() (ratio, variance float64) {
	ratio = s.mean / s.std
	tails := float64((s.kurt - 1) / 4 * float64(ratio*ratio))
	variance = (1 - float64(s.skew*ratio) + tails) / float64(s.n-1)
	// Never negative but for rounding, since kurt >= skew^2 + 1.
	return ratio, max(variance, 0)
}

func (s *sample) sharpeStdErr() (float64, Reason) {
	_, variance := s.sharpeVariance()
	return math.Sqrt(float64(variance * s.periods)), s.dispersed()
}

func (s *sample) psr() (float64, Reason) {
	ratio, variance := s.sharpeVariance()
	return math.Erfc(-ratio/math.Sqrt(variance)/math.Sqrt2) / 2, s.dispersed()
}

// The names of the samples: the points between which returns are taken.
const (
	// SampleDay: the last equity of each UTC day by candle open time. The first day is
	// the base: what happened during it is in no return.
	SampleDay = "day"
	// SampleCandle: the equity at every step close.
	SampleCandle = "candle"
)

const (
	dayMillis = market.Time(24 * time.Hour / time.Millisecond)
	// minDayReturns is the number of day returns from which days are the main sample.
	minDayReturns = 10
	// ratioResolution: a return is a ratio of two float64 minus one and known no better
	// than this, so returns within it of each other are equal.
	ratioResolution = 0x1p-50
)

// sample is the equity levels of each curve at the points of one sample, and what
// the returns between them look like. A return over an equity <= 0 has no meaning:
// the returns of a curve end with the one that reached it.
type sample struct {
	levels  [][]float64
	periods float64 // per year

	n                int
	mean, std        float64 // std with ddof 1; 0 when all returns are equal
	skew, kurt       float64 // population moments, kurtosis raw
	downside         float64 // root of the mean of min(r, 0)^2
	allEqual, losing bool
}

func newSample(levels [][]float64, periods float64) *sample {
	s := &sample{levels: levels, periods: periods}
	var sum, down compensated
	low, high := math.Inf(1), math.Inf(-1)
	for _, curve := range levels {
		curve = solvent(curve)
		for k := 1; k < len(curve); k++ {
			r := curve[k]/curve[k-1] - 1
			sum.add(r)
			if r < 0 {
				down.add(float64(r * r))
			}
			low, high = min(low, r), max(high, r)
			s.n++
		}
	}
	if s.n == 0 {
		return s
	}
	n := float64(s.n)
	s.mean = sum.value() / n
	s.losing = low < 0
	s.downside = math.Sqrt(down.value() / n)
	s.allEqual = high-low <= ratioResolution
	if s.n > 1 && !s.allEqual {
		s.spread()
	}
	return s
}

// spread computes the central moments in a second pass: one pass would lose the
// digits that the mean and its square share.
func (s *sample) spread() {
	var two, three, four compensated
	for _, curve := range s.levels {
		curve = solvent(curve)
		for k := 1; k < len(curve); k++ {
			d := curve[k]/curve[k-1] - 1 - s.mean
			d2 := float64(d * d)
			two.add(d2)
			three.add(float64(d2 * d))
			four.add(float64(d2 * d2))
		}
	}
	n := float64(s.n)
	s.std = math.Sqrt(two.value() / (n - 1))
	m2 := two.value() / n
	s.skew = three.value() / n / (m2 * math.Sqrt(m2))
	s.kurt = four.value() / n / (m2 * m2)
}

// solvent cuts levels after the first that is <= 0.
func solvent(levels []float64) []float64 {
	for i, e := range levels {
		if e <= 0 {
			return levels[:i+1]
		}
	}
	return levels
}

// DayEnds lists the index of the last step of each UTC day, days taken from the
// candles' open times.
func DayEnds(open []market.Time) []int {
	var ends []int
	var nextDay market.Time
	for i, t := range open {
		if i > 0 && t >= nextDay {
			ends = append(ends, i-1)
		}
		if i == 0 || t >= nextDay {
			nextDay = dayStart(t) + dayMillis
		}
	}
	if len(open) > 0 {
		ends = append(ends, len(open)-1)
	}
	return ends
}

// dayStart is 00:00 UTC of the day of t, also before 1970.
func dayStart(t market.Time) market.Time {
	rest := t % dayMillis
	if rest < 0 {
		rest += dayMillis
	}
	return t - rest
}

// Returns are the returns of the main sample of metrics-v1, from which the lab's
// statistics are computed.
type Returns struct {
	// Sample is day or candle.
	Sample         string
	PeriodsPerYear float64
	// Every is the time from one return to the next where none is missing.
	Every time.Duration
	// Time is 00:00 UTC of the day in which each return ends (day), or the open of the
	// candle with whose close it ends (candle).
	Time   []market.Time
	Return []float64
}

// Days returns how many days it takes until there are n returns, rounded up; on a calendar
// of weekdays these are trading days unless a candle is longer. The reason is
// NotApplicable where the number is too large to mean anything.
func (r Returns) Days(n float64) (int64, Reason) {
	days := math.Ceil(n * (float64(r.Every) / float64(24*time.Hour)))
	if !(math.Abs(days) <= 1<<53) {
		return 0, NotApplicable
	}
	return int64(days), ""
}

// MainReturns lists the returns of the main sample, curve after curve.
func MainReturns(in Input) (Returns, error) {
	if err := in.validate(); err != nil {
		return Returns{}, err
	}
	f := gather(&in)
	out := Returns{
		Sample: f.mainName, PeriodsPerYear: f.main.periods, Every: in.Timeframe.Approx(),
		Time: make([]market.Time, 0, f.main.n), Return: make([]float64, 0, f.main.n),
	}
	if out.Sample == SampleDay {
		out.Every = 24 * time.Hour
	}
	for i, levels := range f.main.levels {
		levels = solvent(levels)
		open := in.Curves[i].OpenTime
		for k := 1; k < len(levels); k++ {
			at := open[k]
			if f.mainName == SampleDay {
				at = dayStart(open[f.dayEnds[i][k]])
			}
			out.Time = append(out.Time, at)
			out.Return = append(out.Return, levels[k]/levels[k-1]-1)
		}
	}
	return out, nil
}
