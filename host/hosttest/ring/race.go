//go:build race

package ring

// raceEnabled reports whether the race detector is on.
const raceEnabled = true
