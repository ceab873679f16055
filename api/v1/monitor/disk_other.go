//go:build !linux && !darwin && !freebsd

package monitor

import "errors"

// FreeBytes returns the space that is left in a folder; not known on this system.
func FreeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }
