package sharpe

import "github.com/assay-run/assay/lab/stat"

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
