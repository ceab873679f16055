//go:build race

package soak

// Race says that the race detector is on, under which everything is some ten times slower.
const Race = true
