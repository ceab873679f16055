//go:build !linux

package wire

// DisableDump does nothing: there is no such switch here.
func DisableDump() error { return nil }
