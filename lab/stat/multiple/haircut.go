package multiple

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

const monthsPerYear = 12

// Haircut is what is left of an annual Sharpe ratio after a number of tests.
type Haircut struct {
	SR        float64 // annual, corrected for autocorrelation where that was asked for
	T         float64 // its t statistic
	P         float64 // two-sided
	AdjustedP float64
	HaircutSR float64 // annual, what the adjusted p would have come from
	Haircut   float64 // the share that is lost, 1 - HaircutSR / SR
}

// MonthlySR corrects an annual Sharpe ratio of monthly returns for their first
// autocorrelation rho. The reasons are those of sharpe.Corrected.
func MonthlySR(annual, rho float64) (float64, stat.Reason) {
	return sharpe.Corrected(annual, monthsPerYear, rho)
}

// HaircutOf turns an annual Sharpe ratio of so many monthly returns into a two-sided p
// (Student's t with months - 1 degrees of freedom), lets adjust raise it, and turns it
// back. The reason is NotApplicable when the ratio is not above 0: there is nothing to
// cut; T and the p-values are set all the same. A p that is not raised cuts nothing.
// Source: Harvey and Liu (2015).
func HaircutOf(annual, months float64, adjust func(p float64) float64) (Haircut, stat.Reason) {
	df := months - 1
	return haircut(annual, months, adjust,
		func(t float64) float64 { return stat.StudentTwoSided(t, df) },
		func(p float64) float64 { return stat.StudentT(p, df) })
}

// HaircutIndependent is the same with the normal distribution and the p-value
// 1 - (1 - p)^tests of independent tests. Source: Harvey and Liu (2015), introduction.
func HaircutIndependent(annual, months, tests float64) (Haircut, stat.Reason) {
	return haircut(annual, months,
		func(p float64) float64 { return Sidak(p, tests) },
		func(t float64) float64 { return 2 * stat.Upper(math.Abs(t)) },
		func(p float64) float64 { return stat.UpperZ(p / 2) })
}

func haircut(annual, months float64, adjust, twoSided, inverse func(float64) float64) (Haircut, stat.Reason) {
	perT := math.Sqrt(months / monthsPerYear)
	h := Haircut{SR: annual, T: annual * perT}
	h.P = twoSided(h.T)
	h.AdjustedP = min(1, adjust(h.P))
	if !(annual > 0) {
		return h, stat.NotApplicable
	}
	t, why := stat.Finite(inverse(h.AdjustedP))
	if why != "" {
		return h, why
	}
	// The way to the p-value and back leaves a trace of rounding: a p that is not raised
	// gives the ratio back as it was, and none makes it larger.
	h.HaircutSR = annual
	if h.AdjustedP != h.P {
		h.HaircutSR = min(annual, t/perT)
	}
	h.Haircut = 1 - h.HaircutSR/annual
	return h, ""
}
