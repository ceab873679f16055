//go:build linux

package nodump

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Set makes this process undumpable.
func Set() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make the process undumpable: %w", err)
	}
	return nil
}
