// Package stat is what all statistics of the lab stand on: sums that do not lose digits, moments,
// autocovariances, order statistics, the normal and Student's distribution, quadrature and
// eigenvalues.
//
// Statistics are in the package of their family: sharpe (ratios, their errors and
// probabilities), deflate (what the search did to them), multiple (many p-values),
// bootstrap (resampling, and the best of many against a benchmark), cscv, trade (trades,
// equity, candles). random draws for all of them. eval makes one table of everything, which
// `lab stats` shows and answers from.
//
// Functions take plain slices and numbers and return a number and a Reason: "" where
// the number counts, else why there is none. Nothing returns NaN or an
// infinity. The Sharpe ratio is per observation unless a name has annual; skewness
// and kurtosis are population moments, kurtosis raw, so that a normal has 3.
//
// The package may import host/metric, whose reasons it extends. It has no clock, no
// I/O, no goroutine and no random source. Products that are added to something are
// rounded first, so that no CPU fuses them; what needs math.Exp, math.Log or math.Erfc
// may still differ in the last digits and stays out of hashes.
package stat

import (
	"cmp"
	"math"
	"slices"

	"github.com/assay-run/assay/host/metric"
)

// Rules names the formulas of this package and those below it. A change of any rule
// is a new name.
const Rules = "lab-stats/2"

// ShortSample is the number of observations below which no verdict is better than a
// warning: the asymptotic errors are too optimistic there.
const ShortSample = 120

// Reason is why a statistic has no value; "" means that it has one.
type Reason = metric.Reason

// The reasons, those of metrics-v1 and one more.
const (
	TooFewReturns = metric.TooFewReturns
	ZeroVariance  = metric.ZeroVariance
	NoLosses      = metric.NoLosses
	NoTrades      = metric.NoTrades
	Insufficient  = metric.Insufficient
	NotApplicable = metric.NotApplicable
	// SharpeNotAboveBenchmark: no track record is long enough.
	SharpeNotAboveBenchmark Reason = "sharpe_not_above_benchmark"
)

// Finite is x, or NotApplicable where a formula has left the real numbers.
func Finite(x float64) (float64, Reason) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, NotApplicable
	}
	return x, ""
}

// Accumulator is a float64 sum that carries the rounding error of every addition.
// The zero value is 0. Source: Neumaier (1974), with the error term of Knuth, which
// needs no branch.
type Accumulator struct{ sum, lost float64 }

// Add adds x.
func (a *Accumulator) Add(x float64) {
	t := a.sum + x
	b := t - a.sum
	a.lost += (a.sum - (t - b)) + (x - b)
	a.sum = t
}

// Value is the sum so far.
func (a *Accumulator) Value() float64 { return a.sum + a.lost }

// Sum is the compensated sum of x in index order.
func Sum(x []float64) float64 {
	var a Accumulator
	for _, v := range x {
		a.Add(v)
	}
	return a.Value()
}

// Mean is the mean of x, 0 if x is empty.
func Mean(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return Sum(x) / float64(len(x))
}

// Dot is the compensated sum of the products of two slices of equal length.
func Dot(x, y []float64) float64 {
	var a Accumulator
	for i, v := range x {
		a.Add(float64(v * y[i]))
	}
	return a.Value()
}

// Deviations are the values of x less their mean.
func Deviations(x []float64) []float64 {
	mean := Mean(x)
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v - mean
	}
	return out
}

// AllEqual reports whether x has one value only. It compares the values: rounding leaves a
// computed variance a little above zero.
func AllEqual(x []float64) bool {
	for _, v := range x {
		if v != x[0] {
			return false
		}
	}
	return true
}

// Moments describe a sample. Skew and Kurt are population moments (divided by n),
// Kurt is raw: a normal has 0 and 3.
type Moments struct {
	N          int
	Mean       float64
	SD         float64 // standard deviation, ddof 1
	Skew, Kurt float64
}

// Of are the moments of x. The reason is TooFewReturns for fewer than two values and
// ZeroVariance when all are equal; Mean and N are set all the same.
func Of(x []float64) (Moments, Reason) {
	m := Moments{N: len(x), Mean: Mean(x)}
	switch {
	case len(x) < 2:
		return m, TooFewReturns
	case AllEqual(x):
		return m, ZeroVariance
	}
	var s2, s3, s4 Accumulator
	for _, v := range x {
		d := v - m.Mean
		sq := float64(d * d)
		s2.Add(sq)
		s3.Add(float64(sq * d))
		s4.Add(float64(sq * sq))
	}
	n := float64(m.N)
	variance := s2.Value() / n
	m.SD = math.Sqrt(s2.Value() / (n - 1))
	m.Skew = s3.Value() / n / float64(variance*math.Sqrt(variance))
	m.Kurt = s4.Value() / n / float64(variance*variance)
	for _, v := range []float64{m.Mean, m.SD, m.Skew, m.Kurt} {
		if _, why := Finite(v); why != "" || m.SD == 0 {
			// Values so small or large that their powers leave the range of a float64.
			return Moments{N: m.N}, NotApplicable
		}
	}
	return m, ""
}

// Variance is the sample variance of x with ddof taken from the divisor. The reason is
// TooFewReturns unless there are more than ddof values.
func Variance(x []float64, ddof int) (float64, Reason) {
	if len(x) <= ddof || len(x) == 0 {
		return 0, TooFewReturns
	}
	if AllEqual(x) {
		return 0, ""
	}
	e := Deviations(x)
	return Finite(Dot(e, e) / float64(len(x)-ddof))
}

// Autocovariances are c_0 .. c_maxLag of x, each divided by n, the length of x, and
// not by the number of its products. maxLag is cut to n-1.
func Autocovariances(x []float64, maxLag int) []float64 {
	maxLag = min(maxLag, len(x)-1)
	e := Deviations(x)
	var c []float64
	for lag := 0; lag <= maxLag; lag++ {
		c = append(c, Dot(e[lag:], e[:len(e)-lag])/float64(len(e)))
	}
	return c
}

// Lag1 is the first autocorrelation c_1 / c_0 of x. The reason is TooFewReturns for
// fewer than three values and ZeroVariance when all are equal.
func Lag1(x []float64) (float64, Reason) {
	switch {
	case len(x) < 3:
		return 0, TooFewReturns
	case AllEqual(x):
		return 0, ZeroVariance
	}
	c := Autocovariances(x, 1)
	if c[0] == 0 {
		return 0, NotApplicable
	}
	return Finite(c[1] / c[0])
}

// quantileSlack keeps a product like 0.55 * 100 = 55.00000000000001 from taking the
// order statistic behind the one that is meant.
const quantileSlack = 1e-9

// OrderIndex is the 0-based index of the q-quantile among b sorted values: the order
// statistic ceil(q*b), counted from 1 and kept inside 1..b.
func OrderIndex(q float64, b int) int {
	return min(max(int(math.Ceil(float64(q*float64(b))-quantileSlack)), 1), b) - 1
}

// Quantile is the q-quantile of x, an order statistic without interpolation; x is not
// changed. The reason is TooFewReturns when x is empty.
func Quantile(x []float64, q float64) (float64, Reason) {
	if len(x) == 0 {
		return 0, TooFewReturns
	}
	sorted := slices.Sorted(slices.Values(x))
	return sorted[OrderIndex(q, len(sorted))], ""
}

// ResampledP is (1 + asExtreme) / (replicas + 1), the p-value of a statistic that
// asExtreme of the replicas reached: the observed arrangement counts as one of them,
// so that p is never 0.
func ResampledP(asExtreme, replicas int) float64 {
	return float64(1+asExtreme) / float64(replicas+1)
}

// Order is the indices of x from its smallest value to its largest, equal ones by position.
func Order(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	return order
}

// SmallestP is the smallest p-value that so many replicas can give.
func SmallestP(replicas int) float64 { return ResampledP(0, replicas) }
