// Package upload keeps the files that people send until an import has read them. A [Store] writes
// each under a name that chance gives, in a folder of its own: nothing of a request is ever part of a
// path, and nothing here looks into a file.
//
// One file and all together are bounded. A file lives for an hour, longer only while it is being
// read; what breaks off leaves nothing, and what an earlier start of the service left is removed.
package upload

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Limits bound what is kept.
type Limits struct {
	// Each and All are bytes of one file and of all together, Files is their number.
	Each, All int64
	Files     int
	// Life is how long a file is kept, Patience how long its next byte may take.
	Life, Patience time.Duration
}

// DefaultLimits are those of a service that is not told otherwise.
func DefaultLimits() Limits {
	return Limits{Each: 512 << 20, All: 2 << 30, Files: 256, Life: time.Hour, Patience: 30 * time.Second}
}

// Upload is a file that was received.
type Upload struct {
	ID     string `json:"upload_id"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// ErrEmpty is of a file without a byte.
var ErrEmpty = errors.New("the file is empty")

// ErrClosed is of a store that is closed.
var ErrClosed = errors.New("the uploads are closed")

// TooLargeError is of a file that is too large, alone or beside the others.
type TooLargeError struct {
	// Limit is how many bytes there may be.
	Limit int64
	// Full reports that the others leave too little room.
	Full bool
	// Files reports that there are too many files.
	Files bool
}

// Error names the limit.
func (e *TooLargeError) Error() string {
	switch {
	case e.Files:
		return "as many files as can be kept wait to be imported already"
	case e.Full:
		return fmt.Sprintf("with those that wait to be imported it has more than %d bytes", e.Limit)
	}
	return fmt.Sprintf("a file may have %d bytes", e.Limit)
}

// MissingError is of an upload that is not there, or not any more.
type MissingError struct {
	// Index is that of its id in the list that was asked for.
	Index int
}

// Error says what to do.
func (e *MissingError) Error() string {
	return "is no file that is still kept: send it again"
}

// Store keeps uploads. It may be used by several goroutines.
type Store struct {
	dir    string
	limits Limits

	mu     sync.Mutex
	closed bool
	used   int64
	files  map[string]*entry
}

// entry is one file; the fields are guarded by Store.mu.
type entry struct {
	size  int64
	whole bool
	// readers are imports that read it now; over reports that it goes once they are done.
	readers int
	over    bool
	timer   *time.Timer
}

// Open begins with an empty folder: what is in it is stale, for no other service uses it.
func Open(dir string, l Limits) (*Store, error) {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return nil, err
	}
	return &Store{dir: dir, limits: l, files: map[string]*entry{}}, nil
}

// Limits are what bounds this store.
func (s *Store) Limits() Limits { return s.limits }

// Close removes everything.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, e := range s.files {
		if e.timer != nil {
			e.timer.Stop()
		}
	}
	return os.RemoveAll(s.dir)
}

func (s *Store) path(id string) string { return filepath.Join(s.dir, id) }

// Check reports whether a file of a size, -1 if it is not known, would be taken now.
func (s *Store) Check(size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.files) >= s.limits.Files {
		return &TooLargeError{Limit: int64(s.limits.Files), Files: true}
	}
	return s.fits(0, size)
}

// fits reports whether a file of some bytes may grow by more. The caller holds s.mu.
func (s *Store) fits(has, more int64) error {
	switch {
	case s.closed:
		return ErrClosed
	case has+more > s.limits.Each:
		return &TooLargeError{Limit: s.limits.Each}
	case s.used+more > s.limits.All:
		return &TooLargeError{Limit: s.limits.All, Full: true}
	}
	return nil
}

// Receive keeps a file. Errors are a *TooLargeError, ErrEmpty, ErrClosed, those of the reader as they
// are, and those of the system; after one nothing is kept.
func (s *Store) Receive(from io.Reader) (u Upload, err error) {
	id := "upl_" + strings.ToLower(rand.Text())
	e := &entry{}
	s.mu.Lock()
	full := len(s.files) >= s.limits.Files
	if !full && !s.closed {
		s.files[id] = e
	}
	closed := s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return u, ErrClosed
	case full:
		return u, &TooLargeError{Limit: int64(s.limits.Files), Files: true}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.drop(id))
		}
	}()
	f, err := os.OpenFile(s.path(id), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return u, err
	}
	in := &intake{store: s, entry: e, file: f, sum: sha256.New()}
	_, err = io.Copy(in, from)
	if err = errors.Join(err, f.Close()); err != nil {
		return u, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return u, ErrClosed
	case e.size == 0:
		return u, ErrEmpty
	}
	e.whole, e.timer = true, time.AfterFunc(s.limits.Life, func() { _ = s.drop(id) })
	return Upload{id, hex.EncodeToString(in.sum.Sum(nil)), e.size}, nil
}

// intake writes a file as far as there is room.
type intake struct {
	store *Store
	entry *entry
	file  *os.File
	sum   hash.Hash
}

// Write implements io.Writer.
func (w *intake) Write(p []byte) (int, error) {
	w.store.mu.Lock()
	err := w.store.fits(w.entry.size, int64(len(p)))
	if err == nil {
		w.entry.size += int64(len(p))
		w.store.used += int64(len(p))
	}
	w.store.mu.Unlock()
	if err != nil {
		return 0, err
	}
	w.sum.Write(p)
	return w.file.Write(p)
}

// drop forgets a file and removes it, at once or when nobody reads it any more.
func (s *Store) drop(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.files[id]
	if e == nil {
		return nil
	}
	if e.over = true; e.readers > 0 {
		return nil
	}
	return s.remove(id, e)
}

// remove removes a file. The caller holds s.mu.
func (s *Store) remove(id string, e *entry) error {
	if e.timer != nil {
		e.timer.Stop()
	}
	s.used -= e.size
	delete(s.files, id)
	err := os.Remove(s.path(id))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Hold names the files of uploads, which stay until release is called; done reports to it that nobody
// needs them any more. The error is a *MissingError.
func (s *Store) Hold(ids []string) (paths []string, release func(done bool), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, id := range ids {
		if e := s.files[id]; e == nil || !e.whole || e.over {
			return nil, nil, &MissingError{i}
		}
		paths = append(paths, s.path(id))
	}
	held := map[string]*entry{} // an id may be given twice
	for _, id := range ids {
		held[id] = s.files[id]
	}
	for _, e := range held {
		e.readers++
	}
	return paths, func(done bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for id, e := range held {
			e.readers--
			e.over = e.over || done
			if e.over && e.readers == 0 && !s.closed {
				_ = s.remove(id, e)
			}
		}
	}, nil
}
