//go:build !unix

package dirlock

import (
	"os"
	"time"
)

// Lock stands for a lock on a folder, which this system does not have.
type Lock struct{}

// abandonedAfter is the age at which a folder in the making counts as left behind.
const abandonedAfter = time.Hour

// Acquire locks nothing here.
func Acquire(string) (*Lock, error) { return &Lock{}, nil }

// Try is nil while the folder is young: somebody may be at work on it.
func Try(path string) (*Lock, error) {
	info, err := os.Stat(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil || time.Since(info.ModTime()) < abandonedAfter {
		return nil, err
	}
	return &Lock{}, nil
}

func (l *Lock) isAt(string) bool { return true }

// Release ends the lock.
func (l *Lock) Release() error { return nil }

// Sync does nothing: folders cannot be synced here.
func Sync(*os.File) error { return nil }
