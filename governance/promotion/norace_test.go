//go:build !race

package promotion_test

// raced says that the race detector is on, under which everything is ten times slower.
const raced = false
