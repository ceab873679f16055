package deflate

import (
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// PlannedFDR is the share of false discoveries among the tests that reject: with p the
// prior probability of skill, alpha the level and beta the probability of missing skill,
//
//	1 / (1 + (1 - beta) p / (alpha (1 - p)))
//
// The reason is NotApplicable when no test can reject. Source: Lopez de Prado, Lipton
// and Zoonekynd (2025).
func PlannedFDR(p, alpha, beta float64) (float64, stat.Reason) {
	missed, found := alpha*(1-p), (1-beta)*p
	return stat.Finite(missed / (missed + found))
}

// ObservedFDR is the probability that there is no skill, given sr over t observations:
// the ratio is sr0 without skill and sr1 with it, p is the prior probability of skill,
// and either is weighed by 1 - PSR2025. The reason is NotApplicable when sr is
// impossible under both. Source: Lopez de Prado, Lipton and Zoonekynd (2025).
func ObservedFDR(p, sr, sr0, sr1, t float64, f sharpe.Shape) (float64, stat.Reason) {
	p0, why := tail(sr, sr0, t, f)
	if why != "" {
		return 0, why
	}
	p1, why := tail(sr, sr1, t, f)
	if why != "" {
		return 0, why
	}
	without, with := p0*(1-p), p1*p
	return stat.Finite(without / (without + with))
}

// tail is 1 - PSR2025, by symmetry: PSR2025 of the negated ratios is exact where the
// probability is near 1, but only if the shape is mirrored, too.
func tail(sr, benchmark, t float64, f sharpe.Shape) (float64, stat.Reason) {
	return sharpe.PSR2025(-sr, -benchmark, t, sharpe.Shape{Skew: -f.Skew, Kurt: f.Kurt})
}
