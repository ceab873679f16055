package multiple

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// Sidak is 1 - (1 - p)^n, the chance that the smallest of n independent p-values is at
// most p, exact where p is small; n is real and at least 1. Source: Sidak (1967).
func Sidak(p, n float64) float64 {
	if p >= 1 {
		return 1
	}
	return -math.Expm1(float64(n * math.Log1p(-p)))
}

// SidakOfSharpe is Sidak of p = 1 - PSR2012(sr, 0) over nEff independent trials. The
// reasons are those of PSR2012.
func SidakOfSharpe(sr, t float64, f sharpe.Shape, nEff float64) (float64, stat.Reason) {
	// By symmetry, so that a p-value near 0 keeps its digits.
	p, why := sharpe.PSR2012(-sr, 0, t, sharpe.Shape{Skew: -f.Skew, Kurt: f.Kurt})
	if why != "" {
		return 0, why
	}
	return Sidak(p, nEff), ""
}
