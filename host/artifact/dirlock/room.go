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
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	// Between its making and its lock a room looks like one that nobody is in.
	gate, err := Acquire(root)
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
