package sharpe

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
)

// Ratio is (mean - rf) / standard deviation of the returns, rf per observation, the
// deviation with ddof (1 unless someone asks for the other). The reasons are
// TooFewReturns and ZeroVariance. Source: Sharpe (1994).
func Ratio(returns []float64, rf float64, ddof int) (float64, stat.Reason) {
	variance, why := stat.Variance(returns, ddof)
	switch {
	case why != "":
		return 0, why
	case len(returns) < 2:
		return 0, stat.TooFewReturns
	case variance == 0:
		return 0, stat.ZeroVariance
	}
	return stat.Finite((stat.Mean(returns) - rf) / math.Sqrt(variance))
}

// Sortino is the mean of r - target over the root mean square of min(0, r - target),
// taken over all returns. The reasons are TooFewReturns without returns and NoLosses
// when no return is below the target. Source: Sortino and Price (1994).
func Sortino(returns []float64, target float64) (float64, stat.Reason) {
	if len(returns) == 0 {
		return 0, stat.TooFewReturns
	}
	var sum, squares stat.Accumulator
	losing := false
	for _, r := range returns {
		d := r - target
		sum.Add(d)
		if d < 0 {
			losing = true
			squares.Add(float64(d * d))
		}
	}
	if !losing {
		return 0, stat.NoLosses
	}
	n := float64(len(returns))
	return stat.Finite(sum.Value() / n / math.Sqrt(squares.Value()/n))
}

// Omega is the sum of what returns are above the threshold over the sum of what they
// are below it. The reasons are TooFewReturns without returns and NoLosses when none is
// below. Source: Keating and Shadwick (2002).
func Omega(returns []float64, threshold float64) (float64, stat.Reason) {
	if len(returns) == 0 {
		return 0, stat.TooFewReturns
	}
	var gains, losses stat.Accumulator
	losing := false
	for _, r := range returns {
		if d := r - threshold; d < 0 {
			losing = true
			losses.Add(-d)
		} else {
			gains.Add(d)
		}
	}
	if !losing {
		return 0, stat.NoLosses
	}
	return stat.Finite(gains.Value() / losses.Value())
}
