package stat

import (
	"math"

	"github.com/assay-run/assay/host/metric"
)

// Rules names the formulas of this package and those below it. A change of any rule
// is a new name.
const Rules = "lab-stats/2"

// ShortSample is the number of observations below which no verdict is better than a
// warning: the asymptotic errors are too optimistic there.
const ShortSample = 120

// Reason says why a statistic has no value; "" means that it has one.
type Reason = metric.Reason

// The reasons, those of metrics-v1 and one more.
const (
	TooFewReturns = metric.TooFewReturns
	ZeroVariance  = metric.ZeroVariance
	NoLosses      = metric.NoLosses
	NoTrades      = metric.NoTrades
	Insufficient  = metric.Insufficient
	NotApplicable = metric.NotApplicable
	// SharpeNotAboveBenchmark: no track record is long enough.
	SharpeNotAboveBenchmark Reason = "sharpe_not_above_benchmark"
)

// Finite is x, or NotApplicable where a formula has left the real numbers.
func Finite(x float64) (float64, Reason) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, NotApplicable
	}
	return x, ""
}
