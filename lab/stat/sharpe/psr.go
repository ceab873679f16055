package sharpe

import "github.com/assay-run/assay/lab/stat"

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
