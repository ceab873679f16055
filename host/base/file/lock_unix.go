//go:build unix

package file

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// LockDir waits for the lock of a folder.
func LockDir(path string) (*Lock, error) { return lockDir(path, unix.LOCK_EX) }

// ShareDir waits for a lock of a folder that others may share, and that keeps everybody from LockDir.
func ShareDir(path string) (*Lock, error) { return lockDir(path, unix.LOCK_SH) }

// TryLockDir returns nil when another process holds the lock or the folder is gone.
func TryLockDir(path string) (*Lock, error) {
	l, err := lockDir(path, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return l, err
}

func lockDir(path string, how int) (*Lock, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := flock(dir, how); err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, dir.Close())
	}
	return &Lock{file: dir}, nil
}

func lockFile(f *os.File) error {
	err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func unlock(f *os.File) error { return flock(f, unix.LOCK_UN) }

// isAt reports whether the locked folder is still the one at the path.
func (l *Lock) isAt(path string) bool {
	locked, err := l.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(locked, there)
}

func syncDir(dir *os.File) error { return dir.Sync() }

// isOwn reports whether a folder belongs to the user that this program runs as.
func isOwn(path string) bool {
	var info unix.Stat_t
	return unix.Stat(path, &info) == nil && int(info.Uid) == os.Geteuid()
}
