// Package stage plays the takes of failure capsules.
//
// A Stage knows one plugin and one question; Play runs the plugin over one window in a
// fresh process. Capture makes a capsule of a play that has failed: it finds the exact
// candle where the stream of a co-simulation leaves it open, keeps the candles that
// led there, and looks for the smallest play that fails in the same way. Replay repeats
// what a capsule tells, on a machine that may lack the plugin or the candles.
//
// Nothing here changes a result: a run that does not fail never comes here, and what is
// searched is bounded in plays and in time.
package stage
