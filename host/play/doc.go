// Package play is what every run of a strategy has in common, be it a backtest or live:
// the process that is introduced and ended (Plugin), the record of what the books said
// (Record), what the strategy said besides (Said), and the errors that refuse a start
// or name a failure.
//
// Packages backtest and live drive it; it decides nothing.
package play
