package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// errLocked says that another process holds the lock.
var errLocked = errors.New("in use by another service")

// stateLock keeps a second service away from the state directory. The system takes
// it back when the process ends, however it ends.
type stateLock struct{ file *os.File }

func lockState(dir string) (*stateLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "service.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("state directory %s: %w", dir, err)
	}
	return &stateLock{f}, nil
}

func (l *stateLock) release() { _ = l.file.Close() }
