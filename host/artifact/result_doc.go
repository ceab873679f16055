// Package result holds what a run has produced, as plain data: orders, fills,
// trades, positions, the equity curve, metrics, notes, log and the reason of a
// failure. The backtest fills it in, the runner shows it, artifact writes it.
package artifact
