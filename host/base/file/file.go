// Package file replaces files so that a crash leaves the old one or the new one, and keeps
// processes out of each other's folders: [Pending], [Lock], [Workdir]. A lock ends with its
// process at the latest, so what a crash left behind differs from what is in use. It also
// finds the state directory of a program.
package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// TempPrefix begins the names of files and folders in the making.
const TempPrefix = ".tmp-"

// Write replaces the file at path. It is on the disk when Write returns nil.
func Write(path string, content []byte, mode fs.FileMode) error {
	return WriteFrom(path, mode, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// WriteFrom is Write for content that a function writes.
func WriteFrom(path string, mode fs.FileMode, content func(io.Writer) error) error {
	p, err := Create(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer p.Discard()
	if err := content(p); err != nil {
		return err
	}
	return p.Replace(path, mode)
}

// WriteNew is Write for a file that must not exist: the error is fs.ErrExist if it does.
func WriteNew(path string, content []byte, mode fs.FileMode) error {
	p, err := Create(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer p.Discard()
	if _, err := p.Write(content); err != nil {
		return err
	}
	if err := p.finish(mode, true); err != nil {
		return err
	}
	// Unlike a rename, a link does not replace what is there.
	if err := os.Link(p.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Pending is a file in the making. Discard it in a defer.
type Pending struct {
	*os.File
	closed, placed bool
}

// Create makes a pending file in the folder of the file that it will become.
func Create(dir string) (*Pending, error) {
	f, err := os.CreateTemp(dir, TempPrefix)
	if err != nil {
		return nil, err
	}
	return &Pending{File: f}, nil
}

// Replace gives the file its name in place of whatever has it. File and name are on the disk
// when it returns nil.
func (p *Pending) Replace(path string, mode fs.FileMode) error {
	if err := p.finish(mode, true); err != nil {
		return err
	}
	if err := p.rename(path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// ReplaceUnsynced is Replace for a file that may be lost or cut off in a crash of the system.
func (p *Pending) ReplaceUnsynced(path string, mode fs.FileMode) error {
	if err := p.finish(mode, false); err != nil {
		return err
	}
	return p.rename(path)
}

func (p *Pending) finish(mode fs.FileMode, sync bool) error {
	err := p.Chmod(mode)
	if err == nil && sync {
		err = p.Sync()
	}
	p.closed = true
	return errors.Join(err, p.Close())
}

func (p *Pending) rename(path string) error {
	err := os.Rename(p.Name(), path)
	p.placed = err == nil
	return err
}

// Discard removes the file unless it has its name. Removing is best effort: readers
// of a folder pass over names with TempPrefix.
func (p *Pending) Discard() {
	if !p.closed {
		_ = p.Close()
	}
	if !p.placed {
		_ = os.Remove(p.Name())
	}
}

// MoveDir renames a folder to a name that must be free and syncs its parent. The files of
// the folder must be on the disk already.
func MoveDir(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s: %w", to, fs.ErrExist)
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(to))
}

// SyncDir waits until the names in a folder are on the disk, where the system can.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(syncDir(d), d.Close())
}

// StateFolder is the name of the state directory unless the user names one.
const StateFolder = ".assay"

// FindState returns the state directory of a program whose user names none: the nearest folder .assay
// from a working directory upwards, the way git finds a repository, else the one to be made
// there. It is StateFolder itself in the working directory and an absolute path above it. Above
// the working directory a folder of another user is passed over, because programs are
// started from a state directory.
func FindState(working string) string {
	dir, err := filepath.Abs(working)
	if err != nil || isFolder(filepath.Join(dir, StateFolder)) {
		return StateFolder
	}
	for parent := filepath.Dir(dir); parent != dir; parent = filepath.Dir(dir) {
		dir = parent
		if path := filepath.Join(dir, StateFolder); isFolder(path) && isOwn(path) {
			return path
		}
	}
	return StateFolder
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
