//go:build unix

package dirlock

import (
	"errors"
	"os"
	"sync"
	"syscall"
)

// Lock is a lock on a folder that ends with the process at the latest.
type Lock struct {
	once sync.Once
	dir  *os.File
}

// Acquire waits for the lock of a folder.
func Acquire(path string) (*Lock, error) { return flock(path, syscall.LOCK_EX) }

// Try is nil when somebody else holds the lock or the folder is gone.
func Try(path string) (*Lock, error) {
	l, err := flock(path, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return l, err
}

func flock(path string, how int) (*Lock, error) {
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
	return &Lock{dir: dir}, nil
}

// isAt says whether the folder that is locked is the one at the path.
func (l *Lock) isAt(path string) bool {
	locked, err := l.dir.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(locked, there)
}

// Release ends the lock at once, also where a process that is just being started has the folder open until it
// executes its program; a second call does nothing.
func (l *Lock) Release() (err error) {
	l.once.Do(func() { err = errors.Join(syscall.Flock(int(l.dir.Fd()), syscall.LOCK_UN), l.dir.Close()) })
	return err
}

// Sync waits until the entries of an open folder are on the disk, where folders can be synced.
func Sync(dir *os.File) error { return dir.Sync() }
