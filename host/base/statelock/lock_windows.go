package statelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

func lockFile(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrHeld
	}
	return err
}

func unlockFile(*os.File) {} // handles are not inherited: closing it is enough

// isOwn reports whether a folder belongs to the user that this program runs as; here the
// rights of the folder above decide who can make one.
func isOwn(string) bool { return true }
