//go:build race

package order

// raced is how many times less the long random tests do under the race detector, which slows them as much.
const raced = 5
