package dirlock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Room is a folder of one process for files that do not outlive it.
type Room struct {
	dir  string
	lock *Lock
}

// Enter makes a room in the folder root, which it makes too, and removes the rooms that
// killed processes have left. Only rooms are folders in there.
func Enter(root string) (_ *Room, err error) {
	// Between its making and its lock a room looks like one that nobody is in.
	gate, err := openGate(root)
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
	lock, err := Acquire(dir)
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	return &Room{dir, lock}, nil
}

// openGate locks the root, which it makes too. Whoever waited for it may have got the lock of a
// root that was removed meanwhile, and begins again.
func openGate(root string) (*Lock, error) {
	for {
		err := os.MkdirAll(root, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue // it was there, and then was not
		}
		if err != nil {
			return nil, err
		}
		gate, err := Acquire(root)
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

// RemoveRoot removes a root in which there is no room any more.
func RemoveRoot(root string) error {
	gate, err := Acquire(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if gate.isAt(root) {
		_ = os.Remove(root) // it has rooms
	}
	return gate.Release()
}

// sweep removes the rooms that nobody has locked.
func sweep(root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		path := filepath.Join(root, e.Name())
		lock, err := Try(path)
		if err != nil {
			return err
		}
		if lock == nil {
			continue
		}
		err = errors.Join(os.RemoveAll(path), lock.Release())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Dir is the path of the room.
func (r *Room) Dir() string { return r.dir }

// Close removes the room with all that is still in it.
func (r *Room) Close() error { return errors.Join(os.RemoveAll(r.dir), r.lock.Release()) }
