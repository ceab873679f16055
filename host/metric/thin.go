package metric

import (
	"math"
	"slices"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// The values of Thinning.Method.
const (
	ThinNone = "none"
	ThinLTTB = "lttb+extremes"
)

// Thinning is how a curve was thinned; it is equity_curve_sampling in the API.
type Thinning struct {
	Method string `json:"method"`
	Points int    `json:"points"`
	Of     int    `json:"of"`
}

// ThinEquity picks at most n points of an equity curve: largest-triangle-three-buckets
// plus the exact peak and trough of the worst drawdown. First and last point are
// always there, so n below 2 counts as 2; the trough needs n >= 3, the peak n >= 4.
// With n or fewer points all are picked.
func ThinEquity(times []market.Time, equity []float64, n int) ([]int, Thinning) {
	peak, trough := WorstDrawdown(equity)
	picked := Thin(times, equity, n, trough, peak)
	info := Thinning{Method: ThinLTTB, Points: len(picked), Of: len(equity)}
	if len(picked) == len(equity) {
		info.Method = ThinNone
	}
	return picked, info
}

// Thin picks at most n points (at least 2) of any curve, ascending: first, last,
// those to keep as far as n allows, in the order given, and the rest by
// largest-triangle-three-buckets. A value that is no number is never preferred.
// Times and values have the same length; time and memory are linear in it.
func Thin(times []market.Time, values []float64, n int, keep ...int) []int {
	n = max(n, 2)
	last := len(values) - 1
	if len(values) <= n {
		all := make([]int, len(values))
		for i := range all {
			all[i] = i
		}
		return all
	}
	var inner []int
	for _, k := range keep {
		if k > 0 && k < last && len(inner) < n-2 && !slices.Contains(inner, k) {
			inner = append(inner, k)
		}
	}
	picked := append(triangles(times, values, n-len(inner)), inner...)
	slices.Sort(picked)
	return slices.Compact(picked)
}

// triangles is LTTB: the inner points are cut into n-2 buckets, and of each the point
// is taken that spans the largest triangle with the point taken before and the mean
// of the bucket after. Needs 2 <= n < len(values).
func triangles(times []market.Time, values []float64, n int) []int {
	last := len(values) - 1
	buckets := n - 2
	// start of a bucket; that of bucket number `buckets` is the last point.
	start := func(bucket int) int { return 1 + bucket*(last-1)/max(buckets, 1) }
	picked := make([]int, 1, n)
	for b := range buckets {
		from, to := start(b), start(b+1)
		next := last + 1
		if b+1 < buckets {
			next = start(b + 2)
		}
		before := picked[len(picked)-1]
		meanX, meanY := mean(times[to:next], values[to:next], times[before])
		best, largest := from, math.Inf(-1)
		for i := from; i < to; i++ {
			x := float64(times[i] - times[before])
			area := math.Abs(float64(x*(meanY-values[before])) - float64(meanX*(values[i]-values[before])))
			if area > largest {
				best, largest = i, area
			}
		}
		picked = append(picked, best)
	}
	return append(picked, last)
}

// mean returns the centre of some points, times counted from an origin.
func mean(times []market.Time, values []float64, origin market.Time) (x, y float64) {
	for i := range times {
		x += float64(times[i] - origin)
		y += values[i]
	}
	n := float64(len(times))
	return x / n, y / n
}
