// Package sharpe holds what one series of returns says about its Sharpe ratio: the
// ratio and its relatives, standard errors, the probability that the true ratio is
// above a benchmark, the track record that would be needed to say so, the power of
// that test and the correction for autocorrelation.
//
// Ratios are per observation; multiply by the square root of the periods of a year to
// annualise. T is the number of observations: the forms of 2012 divide by T - 1, Lo's
// and those of 2025 by T. What the choice among many trials does to these numbers is
// package deflate. It imports package stat.
package sharpe
