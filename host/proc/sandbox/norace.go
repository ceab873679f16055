//go:build !race

package sandbox

// raced reports whether this program was built with the race detector.
const raced = false

// BuildEnviron returns what this build needs in a plugin's environment: nothing.
func BuildEnviron() []string { return nil }
