// Package sharpe holds what one series of returns shows of its Sharpe ratio: the
// ratio and its relatives, standard errors, the probability that the true ratio is
// above a benchmark, the track record that this takes, the power of
// that test and the correction for autocorrelation.
//
// Ratios are per observation; multiply by the square root of the periods of a year to
// annualise. T is the number of observations: the forms of 2012 divide by T - 1, Lo's
// and those of 2025 by T. What the choice among many trials does to these numbers is
// package deflate. It imports package stat.
//
// It is a package of its own because the deflation and the searches build on it.
package sharpe

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
)

// Ratio is (mean - rf) / standard deviation of the returns, rf per observation, the
// deviation with ddof (by default 1). The reasons are TooFewReturns and ZeroVariance.
// Source: Sharpe (1994).
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

// Shape is how far returns are from normal: skewness and raw kurtosis.
type Shape struct{ Skew, Kurt float64 }

// ShapeOf takes the shape from moments.
func ShapeOf(m stat.Moments) Shape { return Shape{m.Skew, m.Kurt} }

// Variance is V(s) = 1 - skew s + (kurt - 1)/4 s^2, T times the variance of the
// estimate of a Sharpe ratio s. It is below zero only for moments that no sample has.
// Source: Mertens (2002).
func (f Shape) Variance(s float64) float64 {
	return 1 - float64(f.Skew*s) + float64((f.Kurt-1)/4*float64(s*s))
}

// root is the square root of V(s)/divisor; NotApplicable unless both are positive.
func (f Shape) root(s, divisor float64) (float64, stat.Reason) {
	v := f.Variance(s)
	if !(v > 0) || !(divisor > 0) {
		return 0, stat.NotApplicable
	}
	return stat.Finite(math.Sqrt(v / divisor))
}

// SE is the standard error of a Sharpe ratio sr over t observations,
// sqrt(V(sr) / (t - 1)). The reason is NotApplicable for t <= 1 and for moments that no
// sample has. Source: Mertens (2002); Bailey and Lopez de Prado (2012).
func SE(sr, t float64, f Shape) (float64, stat.Reason) { return f.root(sr, t-1) }

// LoSE is the standard error of a Sharpe ratio of normal, independent returns over t
// observations, sqrt((1 + sr^2/2) / t). Source: Lo (2002), equation 9.
func LoSE(sr, t float64) (float64, stat.Reason) {
	if !(t > 0) {
		return 0, stat.NotApplicable
	}
	return stat.Finite(math.Sqrt((1 + float64(sr*sr/2)) / t))
}

// PSR2012 is the probability that the true Sharpe ratio is above benchmark, given sr
// over t observations: Phi((sr - benchmark) / SE), the error taken at sr. The reason is
// NotApplicable for t <= 1 and for moments that no sample has. Source: Bailey and Lopez
// de Prado (2012), The Sharpe Ratio Efficient Frontier.
func PSR2012(sr, benchmark, t float64, f Shape) (float64, stat.Reason) {
	se, why := SE(sr, t, f)
	if why != "" {
		return 0, why
	}
	return stat.Finite(stat.Phi((sr - benchmark) / se))
}

// PSR2025 is the same with the error under the null hypothesis, sqrt(V(benchmark) / t).
// Source: Lopez de Prado, Lipton and Zoonekynd (2025), How to use the Sharpe ratio.
func PSR2025(sr, benchmark, t float64, f Shape) (float64, stat.Reason) {
	return PSR2025Scaled(sr, benchmark, t, f, 1)
}

// PSR2025Scaled is PSR2025 with the standard error times scale, the spread of the best
// of many trials.
func PSR2025Scaled(sr, benchmark, t float64, f Shape, scale float64) (float64, stat.Reason) {
	se, why := f.root(benchmark, t)
	if why != "" {
		return 0, why
	}
	return stat.Finite(stat.Phi((sr - benchmark) / float64(se*scale)))
}

// MinTRL2012 is how many observations it takes until PSR2012 reaches confidence, a
// probability in (0, 1): 1 + V(sr) (Z(confidence) / (sr - benchmark))^2. The reason is
// SharpeNotAboveBenchmark when no number does. Source: Bailey and Lopez de Prado (2012).
func MinTRL2012(sr, benchmark float64, f Shape, confidence float64) (float64, stat.Reason) {
	n, why := observations(sr, benchmark, f.Variance(sr), stat.Z(confidence))
	if why != "" {
		return 0, why
	}
	return 1 + n, ""
}

// MinTRL2025 is how many observations it takes to reject benchmark at level alpha:
// V(benchmark) (Z(1 - alpha) / (sr - benchmark))^2. The reasons are those of
// MinTRL2012. Source: Lopez de Prado, Lipton and Zoonekynd (2025).
func MinTRL2025(sr, benchmark float64, f Shape, alpha float64) (float64, stat.Reason) {
	return observations(sr, benchmark, f.Variance(benchmark), stat.UpperZ(alpha))
}

func observations(sr, benchmark, variance, z float64) (float64, stat.Reason) {
	switch {
	case !(sr > benchmark):
		return 0, stat.SharpeNotAboveBenchmark
	case !(variance > 0):
		return 0, stat.NotApplicable
	}
	q := z / (sr - benchmark)
	return stat.Finite(variance * float64(q*q))
}

// Power is the probability that t observations reject a true ratio of sr0 at level
// alpha when it is sr1:
//
//	1 - Phi((sr0 + Z(1-alpha) sqrt(V(sr0)/t) - sr1) / sqrt(V(sr1)/t))
//
// The reason is NotApplicable for t not above 0 and for moments that no sample has.
// Source: Lopez de Prado, Lipton and Zoonekynd (2025).
func Power(sr0, sr1, t float64, f Shape, alpha float64) (float64, stat.Reason) {
	null, why := f.root(sr0, t)
	if why != "" {
		return 0, why
	}
	other, why := f.root(sr1, t)
	if why != "" {
		return 0, why
	}
	critical := sr0 + float64(stat.UpperZ(alpha)*null)
	return stat.Finite(stat.Upper((critical - sr1) / other))
}

// EtaAR1 is the factor that annualises the Sharpe ratio of returns with first
// autocorrelation rho over q periods: sqrt(q) when rho is 0, less when returns trend.
// With rho inside (-1, 1):
//
//	sqrt(q) [1 + 2 rho/(1-rho) (1 - (1 - rho^q) / (q (1-rho)))]^(-1/2)
//
// Divided by sqrt(q) it corrects a ratio that was annualised without rho. The reason is
// NotApplicable for other rho, for q not above 0 and where the bracket is not positive.
// Source: Lo (2002), section on time aggregation.
func EtaAR1(q, rho float64) (float64, stat.Reason) {
	if !(q > 0) || !(math.Abs(rho) < 1) {
		return 0, stat.NotApplicable
	}
	bracket := 1 + 2*rho/(1-rho)*(1-(1-math.Pow(rho, q))/float64(q*(1-rho)))
	if !(bracket > 0) {
		return 0, stat.NotApplicable
	}
	return stat.Finite(math.Sqrt(q / bracket))
}

// Corrected is a ratio that was annualised over q periods as if rho were 0, corrected:
// annual * EtaAR1(q, rho) / sqrt(q). The reasons are those of EtaAR1. Source: Harvey and
// Liu (2015), after Lo (2002).
func Corrected(annual, q, rho float64) (float64, stat.Reason) {
	eta, why := EtaAR1(q, rho)
	if why != "" {
		return 0, why
	}
	return stat.Finite(annual * (eta / math.Sqrt(q)))
}
