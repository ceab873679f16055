// Package stat is the ground that the statistics of lab-stats/1 stand on: sums that
// do not lose digits, moments, autocovariances, order statistics, the normal and
// Student's distribution, quadrature and eigenvalues.
//
// One statistic is one file, in the package of its idea: sharpe (ratios, their errors
// and probabilities), deflate (what the search did to them), multiple (many p-values),
// bootstrap, superior (the best of many against a benchmark), cscv, candle (permuted
// candles), trade (trades and equity). random draws for all of them. eval makes one
// table of everything, which `lab stats` shows and answers from.
//
// Functions take plain slices and numbers and return a number and a Reason: "" says
// that the number counts, anything else why there is none. Nothing returns NaN or an
// infinity. The Sharpe ratio is per observation unless a name says annual; skewness
// and kurtosis are population moments, kurtosis raw, so that a normal has 3.
//
// The package may import host/metric, whose reasons it extends. It has no clock, no
// I/O, no goroutine and no random source. Products that are added to something are
// rounded first, so that no CPU fuses them; what needs math.Exp, math.Log or math.Erfc
// may still differ in the last digits and stays out of hashes.
package stat
