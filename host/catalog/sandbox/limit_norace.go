//go:build !race

package sandbox

const defaultDataBytes = 4 << 30

// BuildEnviron is what this build wants in a plugin's environment: nothing.
func BuildEnviron() []string { return nil }
