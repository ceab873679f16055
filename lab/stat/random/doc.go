// Package random makes the random streams of lab-stats/1: one stream for every seed,
// purpose and index, so that replica 17 draws the same numbers whoever computes it,
// when, and beside how many others.
//
// A stream is Go's PCG, seeded from a hash of the three: neighbouring seeds, purposes
// and indices have nothing in common. There is no way to get a stream from the clock
// or to share one. Nothing here needs math.Exp or math.Log, so every CPU draws the
// same. The package imports the standard library only.
package random
