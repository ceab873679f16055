//go:build !race

package ring

// Race reports whether the race detector is on, under which everything is some ten times slower.
const Race = false
