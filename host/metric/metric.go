package metric

import "slices"

// Semantics names the rules that this package implements. A change of any formula
// is a new name.
const Semantics = "metrics-v1"

// Unit says what the number of a metric counts.
type Unit string

// The units. Fractions are not percents: 0.05 is five percent.
const (
	Ratio    Unit = "ratio"
	Fraction Unit = "fraction"
	Quote    Unit = "quote" // quote currency
	Seconds  Unit = "seconds"
	Candles  Unit = "candles"
	Count    Unit = "count"
)

// Reason says why a metric has no value; "" means that it has one.
type Reason string

// The reasons.
const (
	TooFewReturns  Reason = "too_few_returns"
	ZeroVariance   Reason = "zero_variance"
	NoLosses       Reason = "no_losses"
	NoTrades       Reason = "no_trades"
	NoWins         Reason = "no_wins"
	WindowTooShort Reason = "window_too_short"
	ZeroDrawdown   Reason = "zero_drawdown"
	// Insufficient: the sample is too small to estimate anything, see Report.Insufficient.
	Insufficient Reason = "insufficient"
	// NotApplicable: there is nothing to apply the formula to, or its result is no finite number.
	NotApplicable Reason = "not_applicable"
)

// Metric is one statistic.
type Metric struct {
	// Key is the name in JSON, Doc its meaning in one line.
	Key, Doc string
	Unit     Unit
	// Estimate marks ratios and means: what Report.Insufficient leaves out. The others
	// are counts, totals and extremes, true of any window however short.
	Estimate bool
	// CPUDependent marks results that need math.Pow or math.Erfc, whose last digits
	// depend on the CPU: hashes of results leave them out.
	CPUDependent bool

	eval func(*facts) (float64, Reason)
}

// All lists the metrics in the order in which they are shown.
func All() []Metric {
	return slices.Concat(
		ratioMetrics(),
		drawdownMetrics(),
		growthMetrics(),
		tradeMetrics(),
		activityMetrics(),
	)
}

// ContractKeys lists the metrics that a client may count on: in HTTP answers they
// are numbers even when undefined.
func ContractKeys() []string {
	return []string{"sharpe_ratio", "max_drawdown", "total_trades", "win_rate", "total_return"}
}
