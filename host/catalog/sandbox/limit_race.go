//go:build race

package sandbox

// The race detector's shadow memory counts as data, so its builds have no limit.
const defaultDataBytes = 0

// BuildEnviron is what this build wants in a plugin's environment: the race
// detector of a plugin that has one would sleep for a second at the end. It reads
// this from /proc, so it still does so in the sandbox.
func BuildEnviron() []string { return []string{"GORACE=atexit_sleep_ms=0"} }
