package sharpe

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
)

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
