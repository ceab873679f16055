// Package metric computes metrics-v1: what an equity curve and the closed trades
// of a run say about it, from the Sharpe ratio to the number of rejected orders.
//
// The simulator's recorder hands over columns of equity at step closes, trades and
// totals as an Input; Compute turns them into a Report, which the artifact writer
// stores in report.json and the API shows as performance_metrics. The lab uses the
// same Input for a split and, with several curves, for a stitched walk-forward.
//
// Each statistic is one Metric value: key, one line of documentation, unit and
// function. All lists them in order, and the documentation a user sees is built
// from that list. To add a metric, copy a neighbour in the file of its group.
//
// Every number is reproducible to the last bit on every CPU except where
// Metric.CPUDependent says otherwise: sums are compensated and run in index order,
// products that are added to something are rounded first. Numbers leave the package
// rounded to 12 significant digits and are never NaN, infinite or -0: what a formula
// cannot answer is undefined and has a Reason.
//
// The package imports plugin-sdk/market and the decimal library. It has no clock,
// no I/O and no goroutine.
package metric
