//go:build race

package sandbox

// raced reports whether this program was built with the race detector. It needs /proc, more
// address space than there are limits for, and threads that a filter does not reach.
const raced = true

// BuildEnviron returns what this build needs in a plugin's environment: the race
// detector of a plugin that has one would sleep for a second at the end.
func BuildEnviron() []string { return []string{"GORACE=atexit_sleep_ms=0"} }
