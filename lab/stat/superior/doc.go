// Package superior asks whether the best of many strategies beats a benchmark, or only
// looks as if it did because there were many: White's reality check, Hansen's test for
// superior predictive ability, and the stepwise test of Romano and Wolf, which says
// which of them do.
//
// All three read a panel of differences d, a row per observation and a column per
// strategy, in returns (strategy less benchmark), and the same replicas of the
// stationary bootstrap, as indices of rows. Nothing is random here. It imports packages
// stat and bootstrap.
package superior
