// Package split divides the candles of an evaluation into train, validation, test
// and walk-forward windows: section 3 of lab-stats/1.
//
// A Scheme and the number of candles come in; ranges of candle indices come out, half
// open and in integer arithmetic, so that they never depend on parameters, on the
// machine or on what a strategy does. The caller turns them into artifact.Splits with
// the close times, runs one simulation per range and never lets one of them see the
// candles behind it. Indices count the distinct close times of all symbols.
//
// The package may import artifact, whose type it fills, and the market nouns.
package split
