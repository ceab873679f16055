// Package bootstrap resamples a series in blocks of random length, so that what hangs
// together in time stays together, and tests by such replicas.
//
// Sources: the stationary bootstrap of Politis and Romano (1994), the block length of
// Politis and White (2004), the variance that the resampling has without being drawn,
// intervals for a mean; White's reality check (2000), Hansen's test for
// superior predictive ability (2005) and the stepwise test of Romano and Wolf (2005), which
// ask whether the best of many strategies beats a benchmark.
//
// Every replica has a random stream of its own, named by its number; results are stored
// by that number and reduced in its order, so the number of workers changes nothing. The
// tests read a panel of differences, a row per observation and a column per strategy, in
// returns, with replicas as indices of rows; nothing is random in them. The package imports
// packages stat and random.
package bootstrap

import (
	"context"
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
	return recurse(n, meanBlock, func(i int) float64 {
		return uniforms[i]
	}, func(i int) int { return starts[i] })
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
		Value: mean, Low: means[stat.OrderIndex((1-confidence)/2, plan.B)],
		High: means[stat.OrderIndex((1+confidence)/2, plan.B)],
		P:    stat.ResampledP(extreme, plan.B), SmallestP: stat.SmallestP(plan.B),
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
		for i, at := range Indices(random.New(plan.Seed, random.Bootstrap, uint64(b)), len(x),
			plan.MeanBlock) {
			sample[i] = x[at]
		}
		out[b] = statistic(sample)
	}
	return out
}

func abs(x float64) float64 { return max(x, -x) }

// Panel is a matrix of differences, T rows of K columns, with the means of its columns
// and of every replica.
type Panel struct {
	rows     [][]float64
	means    []float64
	replicas [][]float64
	// omega are the deviations for a mean block, once they were asked for.
	omega []float64
	block float64
}

// NewPanel takes rows of equal length and, for each replica, the indices of the rows
// that it has drawn, as many as there are rows. Neither is changed or copied. There is at
// least one row, one column and one replica. The error is only that of ctx, which is
// looked at for every replica and, later, every column.
func NewPanel(ctx context.Context, rows [][]float64, indices [][]int) (*Panel, error) {
	p := &Panel{rows: rows, means: make([]float64, len(rows[0])), replicas: make([][]float64, len(indices))}
	for k := range p.means {
		p.means[k] = stat.Mean(p.column(k))
	}
	n := float64(len(rows))
	for b, drawn := range indices {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		sums := make([]float64, len(p.means))
		for _, at := range drawn {
			for k, v := range rows[at] {
				sums[k] += v
			}
		}
		for k := range sums {
			sums[k] /= n
		}
		p.replicas[b] = sums
	}
	return p, nil
}

func (p *Panel) column(k int) []float64 {
	out := make([]float64, len(p.rows))
	for i, row := range p.rows {
		out[i] = row[k]
	}
	return out
}

func (p *Panel) root() float64 { return math.Sqrt(float64(len(p.rows))) }

// deviations are the bootstrap standard deviations of sqrt(T) times the mean of each
// column. A constant column has none: ZeroVariance. They take T^2 steps for each column
// and are kept for the next test.
func (p *Panel) deviations(ctx context.Context, meanBlock float64) ([]float64, stat.Reason, error) {
	if p.omega != nil && p.block == meanBlock {
		return p.omega, "", nil
	}
	out := make([]float64, len(p.means))
	for k := range out {
		if ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		x := p.column(k)
		if len(x) > 1 && stat.AllEqual(x) {
			return nil, stat.ZeroVariance, nil
		}
		v, _, why := Variance(x, meanBlock)
		if why == "" && v == 0 {
			why = stat.ZeroVariance
		}
		if why != "" {
			return nil, why, nil
		}
		out[k] = math.Sqrt(v)
	}
	p.omega, p.block = out, meanBlock
	return out, "", nil
}

// Test is a statistic with its resampling p-value: how many of B replicas reached it.
type Test struct {
	AsExtreme, B int
	P            float64
}

func (p *Panel) test(observed float64, replica func(means []float64) float64) Test {
	t := Test{B: len(p.replicas)}
	for _, means := range p.replicas {
		if replica(means) >= observed {
			t.AsExtreme++
		}
	}
	t.P = stat.ResampledP(t.AsExtreme, t.B)
	return t
}

// RealityCheck compares the largest sqrt(T) d_k with the largest sqrt(T) (d*_k - d_k)
// of each replica. Source: White (2000), A Reality Check for Data Snooping.
func (p *Panel) RealityCheck() (statistic float64, test Test) {
	root := p.root()
	statistic = math.Inf(-1)
	for _, d := range p.means {
		statistic = max(statistic, root*d)
	}
	return statistic, p.test(statistic, func(means []float64) float64 {
		most := math.Inf(-1)
		for k, d := range means {
			most = max(most, root*(d-p.means[k]))
		}
		return most
	})
}

// SPA is the result of Hansen's test.
type SPA struct {
	// Statistic is max(0, the largest studentised mean).
	Statistic float64
	// Omega are the bootstrap deviations of sqrt(T) d_k. Threshold is -Omega sqrt(2 ln ln
	// T / T): a column whose mean is below counts as poor in the consistent test.
	Omega, Threshold         []float64
	Lower, Consistent, Upper Test
}

// SPA tests whether any column beats the benchmark. The replicas are recentred in three
// ways: lower by max(d, 0), upper by d, consistent by d unless that is below the
// threshold, then not at all; their p-values ascend in the order lower, consistent,
// upper. The reasons are TooFewReturns below three rows, where ln ln T has no root, and
// ZeroVariance when a column is constant, the error is only that of ctx. Source: Hansen
// (2005), A Test for Superior Predictive Ability.
func (p *Panel) SPA(ctx context.Context, meanBlock float64) (SPA, stat.Reason, error) {
	n := float64(len(p.rows))
	if n < 3 {
		return SPA{}, stat.TooFewReturns, nil
	}
	omega, why, err := p.deviations(ctx, meanBlock)
	if why != "" || err != nil {
		return SPA{}, why, err
	}
	out := SPA{Omega: omega, Threshold: make([]float64, len(omega))}
	root, width := p.root(), math.Sqrt(2*math.Log(math.Log(n))/n)
	lower, consistent := make([]float64, len(omega)), make([]float64, len(omega))
	for k, d := range p.means {
		out.Threshold[k] = -omega[k] * width
		out.Statistic = max(out.Statistic, root*d/omega[k])
		lower[k] = max(d, 0)
		if d >= out.Threshold[k] {
			consistent[k] = d
		}
	}
	around := func(centre []float64) Test {
		return p.test(out.Statistic, func(means []float64) float64 {
			most := 0.0
			for k, d := range means {
				most = max(most, root*(d-centre[k])/omega[k])
			}
			return most
		})
	}
	out.Lower, out.Consistent, out.Upper = around(lower), around(consistent), around(p.means)
	return out, "", nil
}

// StepM is the result of the stepwise test.
type StepM struct {
	// Rejected are the columns that beat the benchmark, ascending.
	Rejected []int
	// CriticalValues are those of each step; the last rejected nothing unless all are
	// rejected.
	CriticalValues []float64
	// T are the studentised means.
	T []float64
}

// StepM finds the columns that beat the benchmark with a familywise error of at most
// alpha: reject every t_k above the critical value, the quantile 1 - alpha of the
// largest studentised and recentred replica among the columns that are left, and repeat
// until nothing is rejected. The reasons and the error are those of SPA. Source: Romano and Wolf
// (2005), Stepwise Multiple Testing as Formalized Data Snooping.
func (p *Panel) StepM(ctx context.Context, meanBlock, alpha float64) (StepM, stat.Reason, error) {
	omega, why, err := p.deviations(ctx, meanBlock)
	if why != "" || err != nil {
		return StepM{}, why, err
	}
	out := StepM{Rejected: []int{}}
	root := p.root()
	var left []int
	for k, d := range p.means {
		out.T = append(out.T, root*d/omega[k])
		left = append(left, k)
	}
	for len(left) > 0 {
		if ctx.Err() != nil {
			return StepM{}, "", context.Cause(ctx)
		}
		maxima := make([]float64, len(p.replicas))
		for b, means := range p.replicas {
			maxima[b] = math.Inf(-1)
			for _, k := range left {
				maxima[b] = max(maxima[b], root*(means[k]-p.means[k])/omega[k])
			}
		}
		c, _ := stat.Quantile(maxima, 1-alpha)
		out.CriticalValues = append(out.CriticalValues, c)
		before := len(left)
		left = slices.DeleteFunc(left, func(k int) bool {
			if out.T[k] > c {
				out.Rejected = append(out.Rejected, k)
				return true
			}
			return false
		})
		if len(left) == before {
			break
		}
	}
	slices.Sort(out.Rejected)
	return out, "", nil
}
