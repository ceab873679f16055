package stat

import (
	"math"
	"slices"
)

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

// SmallestP is the smallest p-value that so many replicas can give.
func SmallestP(replicas int) float64 { return ResampledP(0, replicas) }
