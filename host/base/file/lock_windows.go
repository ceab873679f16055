package file

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// abandonedAfter is the age at which a folder in the making counts as left behind.
const abandonedAfter = time.Hour

// LockDir locks nothing: this system has no locks on folders.
func LockDir(string) (*Lock, error) { return &Lock{}, nil }

// ShareDir locks nothing either.
func ShareDir(string) (*Lock, error) { return &Lock{}, nil }

// TryLockDir returns nil while the folder is young: another process may be at work on it.
func TryLockDir(path string) (*Lock, error) {
	info, err := os.Stat(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil || time.Since(info.ModTime()) < abandonedAfter {
		return nil, err
	}
	return &Lock{}, nil
}

func lockFile(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrHeld
	}
	return err
}

func unlock(*os.File) error { return nil } // handles are not inherited: closing it is enough

func (l *Lock) isAt(string) bool { return true }

func syncDir(*os.File) error { return nil } // folders cannot be synced here

// isOwn reports whether a folder belongs to the user that this program runs as; here the
// rights of the folder above decide who can make one.
func isOwn(string) bool { return true }
