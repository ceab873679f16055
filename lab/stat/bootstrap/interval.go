package bootstrap

import (
	"slices"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/random"
)

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
