package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// ErrHeld reports that another process holds the lock.
var ErrHeld = errors.New("in use by another service")

// Lock is a lock on a file or a folder. The system releases it when the process ends.
type Lock struct {
	once sync.Once
	file *os.File // nil for a folder where the system cannot lock one
}

// LockState makes a state directory, for this user only, and locks the file of this name in
// it. The error wraps ErrHeld when another process has it.
func LockState(dir, name string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("state directory %s: %w", dir, err)
	}
	return &Lock{file: f}, nil
}

// Release ends the lock at once: closing the file alone would leave it to a process that is
// being started and has the file open until it executes its program. A second call does
// nothing.
func (l *Lock) Release() (err error) {
	l.once.Do(func() {
		if l.file != nil {
			err = errors.Join(unlock(l.file), l.file.Close())
		}
	})
	return err
}
