// Package bootstrap resamples a series in blocks of random length, so that what hangs
// together in time stays together, and tests by such replicas.
//
// Sources: the stationary bootstrap of Politis and Romano (1994), the block length of
// Politis and White (2004), the variance that the resampling has without being drawn,
// intervals for a mean (bootstrap.go); White's reality check (2000), Hansen's test for
// superior predictive ability (2005) and the stepwise test of Romano and Wolf (2005), which
// ask whether the best of many strategies beats a benchmark (superior.go).
//
// Every replica has a random stream of its own, named by its number; results are stored
// by that number and reduced in its order, so the number of workers changes nothing. The
// tests read a panel of differences, a row per observation and a column per strategy, in
// returns, with replicas as indices of rows; nothing is random in them. The package imports
// packages stat and random.
package bootstrap

import (
	"math"
	"slices"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/random"
)

// Follow is the recursion of the stationary bootstrap over n observations: the first
// index is starts[0]; afterwards uniforms[i] < 1/meanBlock begins a new block at
// starts[i], anything else takes the next index, the first after the last. uniforms and
// starts have n entries, starts in [0, n); uniforms[0] is not used. Source: Politis and
// Romano (1994).
func Follow(n int, meanBlock float64, uniforms []float64, starts []int) []int {
	return recurse(n, meanBlock, func(i int) float64 { return uniforms[i] }, func(i int) int { return starts[i] })
}

// Indices is one replica: n indices in [0, n) drawn from a stream of its own. A mean
// block below 1 counts as 1, the bootstrap of independent observations.
func Indices(s *random.Stream, n int, meanBlock float64) []int {
	return recurse(n, meanBlock, func(int) float64 { return s.Float64() }, func(int) int { return s.IntN(n) })
}

// Replicas are b replicas of a seed, replica i from the stream bootstrap/i.
func Replicas(seed uint64, b, n int, meanBlock float64) [][]int {
	out := make([][]int, b)
	for i := range out {
		out[i] = Indices(random.New(seed, random.Bootstrap, uint64(i)), n, meanBlock)
	}
	return out
}

func recurse(n int, meanBlock float64, uniform func(int) float64, start func(int) int) []int {
	if n == 0 {
		return nil
	}
	p := 1 / max(meanBlock, 1)
	out := make([]int, n)
	out[0] = start(0)
	for i := 1; i < n; i++ {
		if uniform(i) < p {
			out[i] = start(i)
		} else if out[i] = out[i-1] + 1; out[i] == n {
			out[i] = 0
		}
	}
	return out
}

// BlockLength is the mean block of the two bootstraps and the number of lags that it
// was estimated from, in observations.
type BlockLength struct {
	Stationary, Circular float64
	Lags                 int
}

// minBlockSample is the shortest series for which every lag that the rule looks at has
// two products.
const minBlockSample = 11

// PolitisWhite is the block length that minimises the error of the variance of the mean
// of x. The reasons are TooFewReturns below 11 observations, ZeroVariance, and
// NotApplicable where the spectral density at zero vanishes. Source: Politis and White
// (2004) with the correction of Patton, Politis and White (2009).
func PolitisWhite(x []float64) (BlockLength, stat.Reason) {
	n := len(x)
	switch {
	case n < minBlockSample:
		return BlockLength{}, stat.TooFewReturns
	case stat.AllEqual(x):
		return BlockLength{}, stat.ZeroVariance
	}
	size := float64(n)
	run := max(5, digits(n)-1)
	most := int(math.Ceil(math.Sqrt(size))) + run
	m := lags(stat.Deviations(x), run, most)
	c := stat.Autocovariances(x, m)
	density, slope := stat.Accumulator{}, stat.Accumulator{}
	density.Add(c[0])
	for j := 1; j <= m; j++ {
		w := 1.0
		if 2*j > m {
			w = 2 * (1 - float64(j)/float64(m))
		}
		density.Add(float64(2 * w * c[j]))
		slope.Add(float64(2 * w * float64(j) * c[j]))
	}
	v, g := density.Value(), slope.Value()
	if v == 0 {
		return BlockLength{}, stat.NotApplicable
	}
	// The cap keeps at least three blocks in the series.
	limit := math.Ceil(min(float64(3*math.Sqrt(size)), size/3))
	ratio := float64(g*g) / float64(v*v)
	out := BlockLength{min(math.Cbrt(ratio*size), limit), min(math.Cbrt(1.5*ratio*size), limit), m}
	if _, why := stat.Finite(out.Circular); why != "" {
		return BlockLength{}, why
	}
	return out, ""
}

// lags is twice the first lag from which on run autocorrelations are too small to
// matter, at least 2 and at most most, and most when there is no such lag.
func lags(e []float64, run, most int) int {
	n := len(e)
	bound := 2 * math.Sqrt(math.Log10(float64(n))/float64(n))
	small := 0
	for lag := range most {
		cross := stat.Dot(e[lag:], e[:n-lag])
		late, early := e[lag+1:], e[:n-lag-1]
		scale := math.Sqrt(float64(stat.Dot(late, late) * stat.Dot(early, early)))
		if !(math.Abs(cross)/scale < bound) {
			small = 0
			continue
		}
		if small++; small == run {
			return min(2*max(lag-run+1, 1), most)
		}
	}
	return most
}

// digits is how many decimal digits n has: 1 + floor(log10 n), without a logarithm.
func digits(n int) int {
	d := 0
	for ; n > 0; n /= 10 {
		d++
	}
	return d
}

// Variance is the variance of sqrt(n) times the mean of x under the stationary
// bootstrap, without drawing: c_0 + 2 sum k_i c_i over the lags 1 .. n-1, with
//
//	k_i = (1 - i/n) (1-p)^i + (i/n) (1-p)^(n-i),  p = 1 / meanBlock
//
// kappa1 is k_1. A mean block below 1 counts as 1. The reason is TooFewReturns for fewer
// than two values. Source: Politis and Romano (1994), lemma 1.
func Variance(x []float64, meanBlock float64) (variance, kappa1 float64, why stat.Reason) {
	n := len(x)
	if n < 2 {
		return 0, 0, stat.TooFewReturns
	}
	e := stat.Deviations(x)
	sum := stat.Accumulator{}
	sum.Add(lagSum(e, 0))
	kappa := kernel(n, meanBlock)
	for i := 1; i < n; i++ {
		sum.Add(float64(2 * kappa[i] * lagSum(e, i)))
	}
	// The estimate is never negative in theory; rounding may leave a trace.
	v, why := stat.Finite(max(sum.Value()/float64(n), 0))
	return v, kappa[1], why
}

// kernel is k_0 .. k_(n-1); powers by multiplication, the same on every CPU.
func kernel(n int, meanBlock float64) []float64 {
	keep := 1 - 1/max(meanBlock, 1)
	powers := make([]float64, n+1)
	powers[0] = 1
	for i := 1; i <= n; i++ {
		powers[i] = powers[i-1] * keep
	}
	out := make([]float64, n)
	for i := range out {
		share := float64(i) / float64(n)
		out[i] = float64((1-share)*powers[i]) + float64(share*powers[n-i])
	}
	return out
}

// lagSum is the sum of the products of e with itself i steps later. The plain sum: all
// lags of a long series are asked for, and an error of one of them is spread thin.
func lagSum(e []float64, i int) float64 {
	sum := 0.0
	early := e[:len(e)-i]
	for t, v := range e[i:] {
		sum += float64(v * early[t])
	}
	return sum
}

// Plan is how to resample: B replicas of blocks of a mean length, from a seed.
type Plan struct {
	Seed      uint64
	B         int
	MeanBlock float64
}

// Interval is an estimate with its percentile interval, in the unit of the statistic.
type Interval struct {
	Value, Low, High float64
	// P is the two-sided p-value of the hypothesis that the true value is 0, by
	// resampling around the estimate; SmallestP is the least that B replicas can give.
	P, SmallestP float64
}

// MeanInterval is the percentile interval of the mean of x at a confidence in (0, 1):
// the order statistics of (1 - confidence)/2 and (1 + confidence)/2 among the replicas.
// The reasons are TooFewReturns for fewer than two values or no replicas, and
// ZeroVariance when all values are equal.
func MeanInterval(x []float64, plan Plan, confidence float64) (Interval, stat.Reason) {
	switch {
	case len(x) < 2 || plan.B < 1:
		return Interval{}, stat.TooFewReturns
	case stat.AllEqual(x):
		return Interval{}, stat.ZeroVariance
	}
	mean := stat.Mean(x)
	means := Resample(x, plan, stat.Mean)
	extreme := 0
	for _, m := range means {
		if abs(m-mean) >= abs(mean) {
			extreme++
		}
	}
	slices.Sort(means)
	out := Interval{
		Value: mean, Low: means[stat.OrderIndex((1-confidence)/2, plan.B)], High: means[stat.OrderIndex((1+confidence)/2, plan.B)],
		P: stat.ResampledP(extreme, plan.B), SmallestP: stat.SmallestP(plan.B),
	}
	for _, v := range []float64{out.Value, out.Low, out.High} {
		if _, why := stat.Finite(v); why != "" {
			return Interval{}, why
		}
	}
	return out, ""
}

// Resample is a statistic of every replica of x, in the order of the replicas. The
// slice that the statistic gets is used again.
func Resample(x []float64, plan Plan, statistic func([]float64) float64) []float64 {
	out := make([]float64, plan.B)
	sample := make([]float64, len(x))
	for b := range out {
		for i, at := range Indices(random.New(plan.Seed, random.Bootstrap, uint64(b)), len(x), plan.MeanBlock) {
			sample[i] = x[at]
		}
		out[b] = statistic(sample)
	}
	return out
}

func abs(x float64) float64 { return max(x, -x) }
