// Package multiple holds what many tests do to a p-value: the adjustments of
// Bonferroni, Holm, Benjamini and Hochberg, Benjamini and Yekutieli; the haircut of
// Harvey and Liu, who turn an adjusted p-value back into a Sharpe ratio; the return that
// a strategy must earn to pass after so many tests; and Sidak's p over a number of
// independent trials.
//
// P-values are in [0, 1] and two-sided where they come from a t statistic. Sharpe ratios
// in this package are annual, observations monthly, as in Harvey and Liu (2015),
// Backtesting. It imports packages stat and sharpe.
package multiple
