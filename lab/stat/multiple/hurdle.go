package multiple

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
)

// ProfitHurdle is the mean return that is significant, in percent per month.
type ProfitHurdle struct{ Single, Bonferroni float64 }

// Hurdle is z * vol / sqrt(12 months) * 100 for the two-sided normal z at level alpha,
// of one test and of so many by Bonferroni; vol is the annual volatility, a fraction.
// Source: Harvey and Liu (2015), exhibit 6.
func Hurdle(months, vol, alpha, tests float64) ProfitHurdle {
	scale := vol / math.Sqrt(monthsPerYear*months) * 100
	return ProfitHurdle{stat.UpperZ(alpha/2) * scale, stat.UpperZ(alpha/tests/2) * scale}
}
