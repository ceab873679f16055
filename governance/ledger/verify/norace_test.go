//go:build !race

package verify

// raced says that the race detector is on, under which cryptography is slow.
const raced = false
