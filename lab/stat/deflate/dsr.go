package deflate

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// Trials are the Sharpe ratios of a search: their variance (ddof 1) and how many there
// were.
type Trials struct{ Variance, N float64 }

// TrialsOf counts trial ratios; ddof is that of the variance (1). One trial has variance
// 0, which the expected maximum of one multiplies by 0 anyway. The reason is
// TooFewReturns without a trial.
func TrialsOf(ratios []float64, ddof int) (Trials, stat.Reason) {
	if len(ratios) == 1 {
		return Trials{0, 1}, ""
	}
	v, why := stat.Variance(ratios, ddof)
	return Trials{v, float64(len(ratios))}, why
}

// Deflated is a deflated Sharpe ratio: the benchmark that the search has earned, and the
// probability that the true ratio is above it.
type Deflated struct{ Benchmark, Probability float64 }

// DSR2014 is PSR2012 with the benchmark sqrt(variance) * ExpectedMax(N), for a ratio sr
// over t observations. Source: Bailey and Lopez de Prado (2014).
func DSR2014(sr, t float64, f sharpe.Shape, trials Trials) (Deflated, stat.Reason) {
	expected, why := ExpectedMax(trials.N)
	if why == "" && !(trials.Variance >= 0) {
		why = stat.NotApplicable
	}
	if why != "" {
		return Deflated{}, why
	}
	benchmark := math.Sqrt(trials.Variance) * expected
	p, why := sharpe.PSR2012(sr, benchmark, t, f)
	return Deflated{benchmark, p}, why
}

// DSR2025 is PSR2025 with the benchmark sqrt(variance) * ExpectedMax(N), the approximation
// as in the paper, and the standard error times
//
//	sqrt(rho + (1 - rho) sd^2)
//
// for the exact standard deviation sd of that maximum and the mean correlation rho of the
// trials, in [0, 1]: choosing the best narrows what is each trial's own, not what they have
// in common. rho is 0 in the paper. The variance is already that of correlated trials, so N
// is all of them. unscaled is the probability without the factor. Source: Lopez de Prado,
// Lipton and Zoonekynd (2025).
func DSR2025(
	sr, t float64,
	f sharpe.Shape,
	trials Trials,
	rho float64,
) (d Deflated, unscaled float64, why stat.Reason) {
	expected, why := ExpectedMax(trials.N)
	if why == "" && !(trials.Variance >= 0) {
		why = stat.NotApplicable
	}
	if why != "" {
		return Deflated{}, 0, why
	}
	most, why := ExactMax(trials.N)
	if why != "" {
		return Deflated{}, 0, why
	}
	benchmark := math.Sqrt(trials.Variance) * expected
	scale := math.Sqrt(rho + float64((1-rho)*float64(most.SD*most.SD)))
	p, why := sharpe.PSR2025Scaled(sr, benchmark, t, f, scale)
	if why != "" {
		return Deflated{}, 0, why
	}
	unscaled, why = sharpe.PSR2025(sr, benchmark, t, f)
	return Deflated{benchmark, p}, unscaled, why
}
