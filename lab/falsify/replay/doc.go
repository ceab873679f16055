// Package replay makes the candles on which the battery plays a strategy again: poisoned
// after a cut, continued past their end, noisy, with gaps, shuffled, reversed, on another
// scale, at another time, under other names.
//
// Load takes the candles of the base run out of the store, and of those only what the
// range in question needs: what lies behind the range cannot get into a replay, not even
// by mistake. Each change is a function from a Set to a new Set; the columns of the old
// one are never written. What is random comes from the stream of its purpose and the
// number of the replica, so that replica 17 has the same candles whoever makes it. No
// change needs math.Exp or math.Log: every CPU makes the same candles.
//
// A Room is where the changed candles become files: one folder of one process below
// <state_dir>/tmp/falsify, in which every Store has a folder of its own until it is
// closed. The folder is locked; what a killed process has left is removed by the next
// that enters.
//
// It imports host/candle, host/base/file, the SDK's market and candle files, and
// packages candle and random of lab/stat. Nothing here starts a plugin.
package replay
