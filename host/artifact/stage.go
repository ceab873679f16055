package artifact

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/assay-run/assay/host/base/failpoint"
	"github.com/assay-run/assay/host/base/file"
)

const (
	orphanDir = ".orphan"
	dirMode   = 0o700
	fileMode  = 0o600

	// writeBuffer is how much of a file is gathered before it is written and hashed.
	writeBuffer = 64 << 10
)

// stage is a folder in the making, beside the place that it will have.
type stage struct {
	root, dir string
	// lock is held until the folder has its place, so that a sweep can tell a folder in
	// the making from what a crash left behind.
	lock  *file.Lock
	dirs  map[string]bool // folders made inside dir
	files []File
	// checkpoint is called after each step that changes the disk.
	checkpoint failpoint.Hook
	// needed says that nothing else has what is in the folder: it outlives an error.
	needed bool
}

func newStage(root, runID string, checkpoint failpoint.Hook) (*stage, error) {
	if err := os.MkdirAll(root, dirMode); err != nil {
		return nil, err
	}
	// Held while the folder has no lock of its own yet.
	gate, err := file.LockDir(root)
	if err != nil {
		return nil, err
	}
	defer gate.Release()
	dir, err := os.MkdirTemp(root, file.TempPrefix+runID+"-")
	if err != nil {
		return nil, err
	}
	lock, err := file.LockDir(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &stage{root: root, dir: dir, lock: lock, dirs: map[string]bool{}, checkpoint: checkpoint}, nil
}

// write makes one file, hashes it on the way and waits until it is on the disk.
func (s *stage) write(name, mediaType string, content func(io.Writer) error) error {
	if err := s.mkdir(path.Dir(name)); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, filepath.FromSlash(name)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	h := sha256.New()
	counted := &counter{w: io.MultiWriter(f, h)}
	buffered := bufio.NewWriterSize(counted, writeBuffer)
	err = content(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.files = append(s.files, File{Name: name, SHA256: hex.EncodeToString(h.Sum(nil)), Size: counted.n, MediaType: mediaType})
	s.checkpoint.Reach(name)
	return nil
}

func (s *stage) writeBytes(name, mediaType string, b []byte) error {
	return s.write(name, mediaType, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

func (s *stage) mkdir(name string) error {
	if name == "." || s.dirs[name] {
		return nil
	}
	if err := s.mkdir(path.Dir(name)); err != nil {
		return err
	}
	s.dirs[name] = true
	return os.Mkdir(filepath.Join(s.dir, filepath.FromSlash(name)), dirMode)
}

// carry writes the capsules of earlier attempts. They are no files of the run, so that
// no hash has them.
func (s *stage) carry(capsules map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(capsules)) {
		if err := s.writeBytes(capsulesDir+"/"+name, mediaJSON, capsules[name]); err != nil {
			return err
		}
	}
	s.files = nil
	return nil
}

// publish puts the folder in its place, which clear, if set, frees at the last moment.
func (s *stage) publish(runID string, clear func(runID string) error) error {
	for name := range s.dirs {
		if err := file.SyncDir(filepath.Join(s.dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	if err := file.SyncDir(s.dir); err != nil {
		return err
	}
	if err := file.SyncDir(s.root); err != nil {
		return err
	}
	s.checkpoint.Reach("synced")
	if clear != nil {
		s.needed = true
		if err := clear(runID); err != nil {
			return err
		}
		s.checkpoint.Reach("cleared")
	}
	if err := file.MoveDir(s.dir, filepath.Join(s.root, runID)); err != nil {
		return err
	}
	s.checkpoint.Reach("renamed")
	return s.lock.Release()
}

// discard removes the folder after an error, unless the next sweep may need it.
func (s *stage) discard() error {
	if s.needed {
		return s.lock.Release()
	}
	return errors.Join(os.RemoveAll(s.dir), s.lock.Release())
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
