//go:build race

package control_test

// racing says that the race detector makes everything ten times slower.
const racing = true
