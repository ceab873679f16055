package bootstrap

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
)

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
