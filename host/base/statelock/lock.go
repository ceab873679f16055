// Package statelock finds the state directory of a program and keeps a second one away
// from it. It imports nothing of this module.
package statelock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrHeld says that another process holds the lock.
var ErrHeld = errors.New("in use by another service")

// Lock is a lock on a directory. The system takes it back when the process ends, however
// it ends.
type Lock struct{ file *os.File }

// Acquire makes the directory, for this user only, and locks the file of this name in it.
// The error wraps ErrHeld when another process has it.
func Acquire(dir, name string) (*Lock, error) {
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
	return &Lock{f}, nil
}

// Release gives the lock back, at once: closing the file alone would leave it to a process that this one is
// starting just now, which has the file open until it executes its program.
func (l *Lock) Release() {
	unlockFile(l.file)
	_ = l.file.Close()
}
