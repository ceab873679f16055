package deflate

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
)

// gamma is the Euler-Mascheroni constant.
const gamma = 0.57721566490153286

// MostTrials is the largest N of this package; beyond it a maximum comes near the edge
// of the quadrature.
const MostTrials = 1e15

// ExpectedMax is the expected maximum of n independent standard normals, approximately:
// (1 - gamma) Z(1 - 1/n) + gamma Z(1 - 1/(n e)), and 0 for n = 1. It overstates by 2 %
// at n = 10. Between 1 and 1.32 the formula falls under 0, which no expected maximum
// does; who judges by it must not let that make a benchmark easier than none. n is in
// [1, MostTrials], else the reason is NotApplicable. Source: Bailey and Lopez de Prado
// (2014), The Deflated Sharpe Ratio.
func ExpectedMax(n float64) (float64, stat.Reason) {
	switch {
	case !(n >= 1 && n <= MostTrials):
		return 0, stat.NotApplicable
	case n == 1:
		return 0, ""
	}
	return stat.Finite((1-gamma)*stat.UpperZ(1/n) + gamma*stat.UpperZ(1/(n*math.E)))
}

// Maximum is the distribution of the maximum of N independent standard normals.
type Maximum struct{ Mean, SD float64 }

// ExactMax integrates the density n phi(z) Phi(z)^(n-1), which makes sense for every
// real n >= 1; the same domain as ExpectedMax.
func ExactMax(n float64) (Maximum, stat.Reason) {
	switch {
	case !(n >= 1 && n <= MostTrials):
		return Maximum{}, stat.NotApplicable
	case n == 1:
		return Maximum{0, 1}, ""
	}
	const edge, panels = 12, 96
	density := func(z float64) float64 {
		return n * stat.Density(z) * math.Exp((n-1)*math.Log1p(-stat.Upper(z)))
	}
	rule := stat.GaussLegendre(20)
	mean := rule.Integrate(func(z float64) float64 { return z * density(z) }, -edge, edge, panels)
	// Around the mean: E z^2 - mean^2 would cancel for large n.
	variance := rule.Integrate(func(z float64) float64 { return (z - mean) * (z - mean) * density(z) }, -edge, edge, panels)
	return Maximum{mean, math.Sqrt(variance)}, ""
}
