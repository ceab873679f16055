// Package series turns the equity curves of a walk-forward into the one series of
// returns that selection statistics are computed from, and into what holding the same
// symbols would have returned meanwhile.
//
// The text of each equity_curve.csv comes in, Read makes a Curve of it, Of stitches the
// windows into a Series: the main sample of metrics-v1, UTC days where candles are
// shorter than a day. It makes no difference whether a curve has a row per candle or, as
// in compact artifacts, per UTC day. Candles answers what holding has returned between
// the same moments.
//
// Returns are fractions and not annualised, times Unix milliseconds. The package imports
// candle, metric, artifact for the names of datasets, and lab/stat.
package series
