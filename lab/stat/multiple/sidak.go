package multiple

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
)

// Sidak is 1 - (1 - p)^n, the chance that the smallest of n independent p-values is at
// most p, exact where p is small; n is real and at least 1. Source: Sidak (1967).
func Sidak(p, n float64) float64 {
	if p >= 1 {
		return 1
	}
	return -math.Expm1(float64(n * math.Log1p(-p)))
}

// SidakOfSharpe is Sidak of p = 1 - Phi(sr sqrt(t)), the p-value of a ratio whose true value
// is 0, over nEff independent trials.
func SidakOfSharpe(sr, t, nEff float64) float64 {
	return Sidak(stat.Upper(float64(sr*math.Sqrt(t))), nEff)
}
