// Package selection says what a search has done to the numbers of the run that it chose.
//
// The registry and the artifacts come in. Read counts every trial of the family on
// overlapping data and stitches the walk-forward returns of each: the Ledger. Its Digest
// goes into the request of a falsification, because it is what the answer depends on
// besides. Select judges one run against the others: by the best of all trials in replicas
// without skill, by formulas for the number of trials, by the probability of backtest
// overfitting, and by the tests for superior ability over holding; with the verdict of
// selection_bias.
//
// Which trials stand side by side. What counts is the dates of the judged run. Trials that
// share enough of them, as the rungs of a search do, are compared pair by pair on what both
// have: for how alike they are, and for how much their ratios differ. A trial on other
// windows, and one whose files are gone or have changed, counts as one more independent
// trial. What resamples takes the trials with a return on every date: dsr_max, which counts
// the others as independent, and the tests against holding. PBO takes the most dates on
// which ten trials have one.
//
// Counting too many is the safe side: every trial is in N, and copies of one are nothing to
// dsr_max.
//
// Trials are ordered by their key, so that neither clocks nor the order in which workers
// finished show in a result. Nothing here is run in parallel but the reading: for 200
// trials over 1,217 days everything else takes a fraction of a second.
//
// Formulas: sections 4 and 6 of lab-stats/1. Sharpe ratios are per observation. Package
// series reads and stitches, surface describes how an objective lies over a search space.
// The package imports host artifact, metric and registry, and lab/stat.
package selection
