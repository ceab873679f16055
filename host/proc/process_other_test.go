//go:build !linux

package proc

// hoard is for a test of Linux.
func hoard() {}

// measured is for a test of Linux.
func measured(string) {}
