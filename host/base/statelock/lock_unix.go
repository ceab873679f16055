//go:build unix

package statelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}

func unlockFile(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) } // closing it is the other way

// isOwn reports whether a folder belongs to the user that this program runs as.
func isOwn(path string) bool {
	var info unix.Stat_t
	return unix.Stat(path, &info) == nil && int(info.Uid) == os.Geteuid()
}
