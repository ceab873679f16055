package sharpe

import "github.com/assay-run/assay/lab/stat"

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
