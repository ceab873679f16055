// Package backtest is one historical run: it resolves a request into strategy,
// data and rules, launches the plugin, drives it over the candles, and keeps what
// happened.
//
// The books are always the host's own: in co-simulation the plugin runs the same
// simulator over the same candles and streams only its intents, which the host
// feeds into its own engine, comparing ledger digests on the way; in lockstep the
// host sends each step and waits for the answer. Both give the same result.
//
// A candle goes candle -> (wire) strategy -> Intent -> sim.Engine -> recorder.
// Launch does everything that can be refused before a run counts as active; the
// Execution that it returns is driven by package runner.
package backtest
