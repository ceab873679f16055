package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Workdir is a folder of one process for files that do not outlive it.
type Workdir struct {
	dir  string
	lock *Lock
}

// NewWorkdir makes a folder in root, which it makes too, and removes those that killed processes
// have left. root has no other folders.
func NewWorkdir(root string) (_ *Workdir, err error) {
	// Hold the root's lock: a folder that is not locked yet would be swept as stale.
	gate, err := lockRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, gate.Release()) }()
	if err := sweep(root); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(root, "room-")
	if err != nil {
		return nil, err
	}
	lock, err := LockDir(dir)
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	return &Workdir{dir, lock}, nil
}

// lockRoot makes the root and locks it. A root that was removed while its lock was awaited is made
// anew.
func lockRoot(root string) (*Lock, error) {
	for {
		err := os.MkdirAll(root, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue // it was there, and then was not
		}
		if err != nil {
			return nil, err
		}
		gate, err := LockDir(root)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case gate.isAt(root):
			return gate, nil
		}
		if err := gate.Release(); err != nil {
			return nil, err
		}
	}
}

// RemoveWorkdirs removes a root without folders.
func RemoveWorkdirs(root string) error {
	gate, err := LockDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if gate.isAt(root) {
		_ = os.Remove(root) // it has folders
	}
	return gate.Release()
}

// Abandoned returns the folders of a root that no process has locked, left by killed ones; none where
// there is no root. NewWorkdir and SweepWorkdirs remove them.
func Abandoned(root string) (dirs []string, err error) {
	err = eachAbandoned(root, func(dir string) error {
		dirs = append(dirs, dir)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return dirs, nil
	}
	return dirs, err
}

// SweepWorkdirs removes the folders of an existing root that no process has locked.
func SweepWorkdirs(root string) (err error) {
	gate, err := LockDir(root)
	if err != nil {
		return err
	}
	return errors.Join(sweep(root), gate.Release())
}

// sweep removes the folders that no process has locked.
func sweep(root string) error { return eachAbandoned(root, os.RemoveAll) }

// eachAbandoned locks each folder of a root that no process has locked, and calls do with it.
func eachAbandoned(root string, do func(dir string) error) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		dir := filepath.Join(root, e.Name())
		lock, err := TryLockDir(dir)
		if err != nil {
			return err
		}
		if lock == nil {
			continue
		}
		err = errors.Join(do(dir), lock.Release())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Dir returns the path of the folder.
func (d *Workdir) Dir() string { return d.dir }

// Close removes the folder with all that is still in it.
func (d *Workdir) Close() error { return errors.Join(os.RemoveAll(d.dir), d.lock.Release()) }
