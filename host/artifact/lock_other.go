//go:build !unix

package artifact

import (
	"os"
	"time"
)

// dirLock stands for a lock on a folder, which this system does not have.
type dirLock struct{}

// abandonedAfter is the age at which a folder in the making counts as left behind.
const abandonedAfter = time.Hour

func lockDir(string) (*dirLock, error) { return &dirLock{}, nil }

// tryLockDir is nil while the folder is young: somebody may be at work on it.
func tryLockDir(path string) (*dirLock, error) {
	info, err := os.Stat(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil || time.Since(info.ModTime()) < abandonedAfter {
		return nil, err
	}
	return &dirLock{}, nil
}

func (l *dirLock) release() error { return nil }

// syncHandle does nothing: folders cannot be synced here.
func syncHandle(*os.File) error { return nil }
