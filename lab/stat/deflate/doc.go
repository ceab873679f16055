// Package deflate holds what a search does to a Sharpe ratio: how large the best of N
// ratios is when none has any skill, the deflated ratio of 2014, of 2025 and by resampling,
// the backtest length that a search needs, false discovery rates, and how many of the
// trials were independent.
//
// N counts trials and N_eff independent ones; both are real numbers of at least 1.
// Sharpe ratios are per observation but where a name says annual. The package imports
// packages stat and sharpe.
package deflate
