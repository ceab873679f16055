//go:build unix

package artifact

import (
	"errors"
	"os"
	"sync"
	"syscall"
)

// dirLock is a lock on a folder that ends with the process at the latest.
type dirLock struct {
	once sync.Once
	dir  *os.File
}

// lockDir waits for the lock of a folder.
func lockDir(path string) (*dirLock, error) { return flock(path, syscall.LOCK_EX) }

// tryLockDir is nil when somebody else holds the lock or the folder is gone.
func tryLockDir(path string) (*dirLock, error) {
	l, err := flock(path, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return l, err
}

func flock(path string, how int) (*dirLock, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(dir.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, dir.Close())
	}
	return &dirLock{dir: dir}, nil
}

func (l *dirLock) release() (err error) {
	l.once.Do(func() { err = l.dir.Close() })
	return err
}

func syncHandle(dir *os.File) error { return dir.Sync() }
