package library

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/artifact"
)

// MaxBuffered is the largest file that is read whole before any of it is shown.
const MaxBuffered = 64 << 20

// File is a file of a run. Hash and size of a locked one are empty: a size tells how many trades
// there were.
type File struct {
	Name      string `json:"name"`
	SHA256    string `json:"sha256"`
	Size      int64  `json:"size"`
	MediaType string `json:"media_type"`
	Locked    bool   `json:"locked"`
}

const logFile = "log.jsonl"

// shut reports whether a file belongs to what is locked: the files of the splits, the log, which
// has their lines, and capsules.
func shut(name string, locked []string) bool {
	if len(locked) == 0 {
		return false
	}
	if name == logFile || strings.HasPrefix(name, "capsules/") {
		return true
	}
	return slices.ContainsFunc(locked, func(id string) bool {
		return strings.HasPrefix(name, "splits/"+id+"/")
	})
}

// Files lists the files of a run by name.
func (l *Library) Files(ctx context.Context, runID string) ([]File, error) {
	e, _, err := l.find(ctx, runID)
	if err != nil {
		return nil, err
	}
	locked, err := l.locked(ctx, e)
	if err != nil {
		return nil, err
	}
	out := make([]File, 0, len(e.meta.Artifacts))
	for _, f := range e.meta.Artifacts {
		if shut(f.Name, locked) {
			out = append(out, File{Name: f.Name, MediaType: f.MediaType, Locked: true})
			continue
		}
		out = append(out, File{f.Name, f.SHA256, f.Size, f.MediaType, false})
	}
	return out, nil
}

// Open opens a file of a run that is listed, not locked, and has the hash that is listed. The
// caller closes it.
func (l *Library) Open(ctx context.Context, runID, name string) (File, io.ReadCloser, error) {
	e, _, err := l.find(ctx, runID)
	if err != nil {
		return File{}, nil, err
	}
	locked, err := l.locked(ctx, e)
	if err != nil {
		return File{}, nil, err
	}
	for _, f := range e.meta.Artifacts {
		if f.Name != name {
			continue
		}
		if shut(name, locked) {
			return File{}, nil, &LockedError{runID, name}
		}
		body, err := l.open(e.meta, f)
		return File{f.Name, f.SHA256, f.Size, f.MediaType, false}, body, err
	}
	return File{}, nil, &NotFoundError{KindFile, name}
}

// content returns a listed file whole, whether locked or not.
func (l *Library) content(m *artifact.Metadata, name string) ([]byte, error) {
	for _, f := range m.Artifacts {
		if f.Name == name {
			body, err := l.open(m, f)
			if err != nil {
				return nil, err
			}
			text, err := io.ReadAll(body)
			return text, errors.Join(err, body.Close())
		}
	}
	return nil, &NotFoundError{KindFile, name}
}

// open opens a listed file and holds it against size and hash before it gives a byte. No link
// leads out of the folder: it is opened below an os.Root, and only a regular file counts.
func (l *Library) open(m *artifact.Metadata, f artifact.File) (_ io.ReadCloser, err error) {
	mismatch := func(format string, a ...any) error {
		return &MismatchError{m.RunID, f.Name, fmt.Sprintf(format, a...)}
	}
	if !filepath.IsLocal(m.RunID) || strings.ContainsAny(m.RunID, `/\`) || !fs.ValidPath(f.Name) {
		return nil, mismatch("the name is no place inside the folder of a run")
	}
	root, err := os.OpenRoot(l.store.Dir(m.RunID))
	if err != nil {
		return nil, mismatch("the folder cannot be opened")
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if info, err := root.Lstat(f.Name); err != nil || !info.Mode().IsRegular() || info.Size() != f.Size {
		return nil, mismatch("it is missing, no regular file, or not of the size that is listed")
	}
	file, err := root.Open(f.Name)
	if err != nil {
		return nil, mismatch("it cannot be opened")
	}
	h := sha256.New()
	if f.Size <= MaxBuffered {
		defer file.Close()
		var text bytes.Buffer
		if _, err := io.Copy(io.MultiWriter(h, &text), io.LimitReader(file, f.Size+1)); err != nil {
			return nil, mismatch("it cannot be read")
		}
		if hex.EncodeToString(h.Sum(nil)) != f.SHA256 {
			return nil, mismatch("its hash differs")
		}
		return io.NopCloser(&text), nil
	}
	_, err = io.Copy(h, file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil || hex.EncodeToString(h.Sum(nil)) != f.SHA256 {
		return nil, errors.Join(mismatch("its hash differs"), file.Close())
	}
	return file, nil
}
