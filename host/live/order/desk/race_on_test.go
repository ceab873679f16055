//go:build race

package desk

// raced is how many times fewer histories are run with the race detector.
const raced = 5
