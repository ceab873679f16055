// Package multiple holds what many tests do to a p-value: the adjustments of
// Bonferroni, Holm, Benjamini and Hochberg, Benjamini and Yekutieli; the haircut of
// Harvey and Liu, who turn an adjusted p-value back into a Sharpe ratio; the return that
// a strategy must earn to pass after so many tests; and Sidak's p over a number of
// independent trials.
//
// P-values are in [0, 1] and two-sided where they come from a t statistic. Sharpe ratios
// in this package are annual, observations monthly, as in Harvey and Liu (2015),
// Backtesting. It imports packages stat and sharpe.
//
// It is a package of its own because the falsification and the searches adjust by the same rules.
package multiple

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/sharpe"
)

// Adjusted are adjusted p-values in the order of the raw ones.
type Adjusted struct {
	Bonferroni, Holm []float64
	// BH controls the false discovery rate of independent tests, BY of any.
	BH, BY []float64
	// HLBHY is what Harvey and Liu (2015) print as BHY: it begins at the raw largest p
	// instead of its adjusted value. It exists for comparison with their tables only.
	HLBHY []float64
}

// Adjust adjusts p-values for each other. Sources: Bonferroni (1936), Holm (1979),
// Benjamini and Hochberg (1995), Benjamini and Yekutieli (2001).
func Adjust(p []float64) Adjusted {
	m, order, harmonic := len(p), stat.Order(p), 0.0
	for i := range m {
		harmonic += 1 / float64(i+1)
	}
	out := Adjusted{Bonferroni: make([]float64, m), Holm: make([]float64, m)}
	worst := 0.0
	for rank, i := range order {
		out.Bonferroni[i] = min(1, p[i]*float64(m))
		worst = max(worst, min(1, p[i]*float64(m-rank)))
		out.Holm[i] = worst
	}
	out.BH = stepUp(p, order, 1, 1)
	out.BY = stepUp(p, order, harmonic, 1)
	if m > 0 {
		out.HLBHY = stepUp(p, order, harmonic, p[order[m-1]])
	} else {
		out.HLBHY = []float64{}
	}
	return out
}

// stepUp is the running minimum, from the largest p down, of factor * m / rank * p,
// nowhere above limit.
func stepUp(p []float64, order []int, factor, limit float64) []float64 {
	m := len(p)
	out := make([]float64, m)
	least := limit
	for rank := m; rank >= 1; rank-- {
		i := order[rank-1]
		// The factor first, so that it is exactly 1 where it should be.
		least = min(least, p[i]*(factor*float64(m)/float64(rank)))
		out[i] = least
	}
	return out
}

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

// HaircutIndependent is the same with the normal distribution and the p-value 1 - (1 - p)^tests
// of independent tests. Source: Harvey and Liu (2015), introduction.
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

// ProfitHurdle is the mean return that is significant, in percent per month.
type ProfitHurdle struct{ Single, Bonferroni float64 }

// Hurdle is z * vol / sqrt(12 months) * 100 for the two-sided normal z at level alpha,
// of one test and of so many by Bonferroni; vol is the annual volatility, a fraction.
// Source: Harvey and Liu (2015), exhibit 6.
func Hurdle(months, vol, alpha, tests float64) ProfitHurdle {
	scale := vol / math.Sqrt(monthsPerYear*months) * 100
	return ProfitHurdle{stat.UpperZ(alpha/2) * scale, stat.UpperZ(alpha/tests/2) * scale}
}

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
