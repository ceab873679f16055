package deflate

import (
	"math"

	"github.com/assay-run/assay/lab/stat"
)

// BacktestLength is how long a backtest must be before the best of a search is not
// expected to reach a Sharpe ratio by chance alone, in years.
type BacktestLength struct{ Years, UpperBound float64 }

// MinBacktestLength is (ExpectedMax(n) / target)^2 with the bound 2 ln n / target^2, for
// n trials and an annual target. The reason is NotApplicable unless the target is above
// 0. Source: Bailey, Borwein, Lopez de Prado and Zhu (2014), Pseudo-Mathematics and
// Financial Charlatanism.
func MinBacktestLength(n, targetAnnual float64) (BacktestLength, stat.Reason) {
	expected, why := ExpectedMax(n)
	if why == "" && !(targetAnnual > 0) {
		why = stat.NotApplicable
	}
	if why != "" {
		return BacktestLength{}, why
	}
	years := expected / targetAnnual
	out := BacktestLength{years * years, 2 * math.Log(n) / (targetAnnual * targetAnnual)}
	if math.IsInf(out.Years, 0) || math.IsInf(out.UpperBound, 0) {
		return BacktestLength{}, stat.NotApplicable
	}
	return out, ""
}
