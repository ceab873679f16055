// Package share copies what a run consists of between a state directory and the bucket of a team: its
// folder, and the program that decided it, a bundle with its layers, each once under its hash. Everything is
// hashed on the way, and a run whose metadata.json is in the bucket is there as a whole.
package share

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/bucket"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/proc/bundle"
	"github.com/assay-run/assay/host/registry"
)

const (
	metadataName = "metadata.json"
	// maxFile is the size in bytes of the largest file that is copied: one request stores it.
	maxFile = 4 << 30
)

// Copier copies between the two places.
type Copier struct {
	Bucket   *bucket.Bucket
	StateDir string
	Store    *artifact.Store

	there map[string]bool // files of programs that the bucket has
}

// Copied is what became of a run.
type Copied struct {
	RunID string `json:"run_id"`
	// Files counts what was copied, 0 where everything was there.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

func runName(runID, name string) string { return "runs/" + runID + "/" + name }

func (c *Copied) count(size int64) { c.Files, c.Bytes = c.Files+1, c.Bytes+size }

// Push copies a completed run into the bucket; row is the payload of its registry row, which says what its
// files are. A run that is there already is left as it is, and what it lacks of its program is added: the
// error is an [*artifact.MismatchError] where it is another one, or where a file here is not what row says.
func (c *Copier) Push(ctx context.Context, row []byte) (Copied, error) {
	m, err := artifact.DecodeMetadata(row)
	if err != nil {
		return Copied{}, err
	}
	done := Copied{RunID: m.RunID}
	there, missing := c.metadata(ctx, m.RunID)
	if missing == nil {
		if err := same(row, m, there); err != nil {
			return done, err
		}
	} else if !errors.Is(missing, fs.ErrNotExist) {
		return done, missing
	}
	if err := c.pushProgram(ctx, m, &done); err != nil || missing == nil {
		return done, err
	}
	for _, f := range m.Artifacts {
		if f.Size > maxFile {
			return done, fmt.Errorf("%s of %s has %d bytes, at most %d can be copied", f.Name, m.RunID,
				f.Size, int64(maxFile))
		}
		text, err := c.Store.Read(m, f.Name)
		if err != nil {
			return done, err
		}
		if err := c.Bucket.Put(ctx, runName(m.RunID, f.Name), text); err != nil {
			return done, err
		}
		done.count(int64(len(text)))
	}
	text, err := os.ReadFile(filepath.Join(c.Store.Dir(m.RunID), metadataName))
	if err != nil {
		return done, err
	}
	if err := same(row, m, text); err != nil {
		return done, err
	}
	done.count(int64(len(text)))
	return done, c.Bucket.Put(ctx, runName(m.RunID, metadataName), text)
}

// same reports a metadata.json that does not describe the run of a row, perhaps made again elsewhere.
func same(row []byte, m *artifact.Metadata, text []byte) error {
	there, err := artifact.DecodeMetadata(text)
	if err == nil && registry.SameResult(row, there) {
		return nil
	}
	return &artifact.MismatchError{RunID: m.RunID, Problems: []string{
		"metadata.json in the bucket or in its folder describes another run than the registry"}}
}

func (c *Copier) metadata(ctx context.Context, runID string) ([]byte, error) {
	return c.Bucket.Get(ctx, runName(runID, metadataName), artifact.MaxBuffered)
}

// program is where a program is, here and there; "" of a run that has none.
func (c *Copier) program(m *artifact.Metadata) (name, path string) {
	if m.Plugin.SHA256 == "" {
		return "", ""
	}
	return "plugins/" + m.Plugin.SHA256, filepath.Join(c.StateDir, "plugins", m.Plugin.SHA256)
}

func (c *Copier) pushProgram(ctx context.Context, m *artifact.Metadata, done *Copied) error {
	name, path := c.program(m)
	if name == "" || c.there[name] {
		return nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a clean-up took it; its source builds it again
	}
	if err != nil {
		return err
	}
	if digest.SHA256Hex(text) != m.Plugin.SHA256 {
		return &artifact.MismatchError{RunID: m.RunID, Problems: []string{
			path + " is not the program that its name says: remove it"}}
	}
	if bundle.IsManifest(text) {
		if err := c.pushBundle(ctx, path, done); err != nil {
			return refused(m.RunID, err)
		}
	}
	return c.putOnce(ctx, name, done, func(to *bytes.Buffer) error {
		_, err := to.Write(text)
		return err
	})
}

// refused makes what is wrong with the files of a bundle a mismatch.
func refused(runID string, err error) error {
	if _, is := errors.AsType[*bundle.Error](err); is {
		return &artifact.MismatchError{RunID: runID, Problems: []string{err.Error()}}
	}
	return err
}

// pushBundle copies the streams of a bundle and its layers, but for those that a clean-up took.
func (c *Copier) pushBundle(ctx context.Context, manifest string, done *Copied) error {
	documents, err := bundle.Documents(manifest)
	if err != nil {
		return err
	}
	for _, sum := range slices.Sorted(maps.Keys(documents)) {
		err := c.putOnce(ctx, bundle.TeamName(sum), done, func(to *bytes.Buffer) error {
			return bundle.Pack(to, documents[sum])
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", documents[sum], err)
		}
	}
	return nil
}

// putOnce stores what write makes, unless a file of this name is there.
func (c *Copier) putOnce(ctx context.Context, name string, done *Copied,
	write func(to *bytes.Buffer) error) error {
	if c.there[name] {
		return nil
	}
	if _, err := fs.Stat(c.Bucket.FS(ctx), name); errors.Is(err, fs.ErrNotExist) {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return err
		}
		if err := c.Bucket.Put(ctx, name, b.Bytes()); err != nil {
			return err
		}
		done.count(int64(b.Len()))
	} else if err != nil {
		return err
	}
	if c.there == nil {
		c.there = map[string]bool{}
	}
	c.there[name] = true
	return nil
}

// Pull copies a run out of the bucket to its place here, if it is not there. The error wraps fs.ErrNotExist
// where the bucket does not have it, and is an [*artifact.MismatchError] where it has another one.
func (c *Copier) Pull(ctx context.Context, row []byte) (Copied, error) {
	m, err := artifact.DecodeMetadata(row)
	if err != nil {
		return Copied{}, err
	}
	done := Copied{RunID: m.RunID}
	if !c.Store.Has(m.RunID) {
		if err := c.pullFolder(ctx, row, m, &done); err != nil {
			return done, err
		}
	}
	return done, c.pullProgram(ctx, m, &done)
}

func (c *Copier) pullFolder(ctx context.Context, row []byte, m *artifact.Metadata, done *Copied) error {
	text, err := c.metadata(ctx, done.RunID)
	if err != nil {
		return err
	}
	if err := same(row, m, text); err != nil {
		return err
	}
	if m, err = artifact.DecodeMetadata(text); err != nil {
		return err
	}
	files := map[string][]byte{metadataName: text}
	done.count(int64(len(text)))
	for _, f := range m.Artifacts {
		text, err := c.Bucket.Get(ctx, runName(m.RunID, f.Name), f.Size)
		if err != nil {
			return err
		}
		files[f.Name] = text
		done.count(int64(len(text)))
	}
	_, err = c.Store.Receive(m.RunID, files)
	return err
}

func (c *Copier) pullProgram(ctx context.Context, m *artifact.Metadata, done *Copied) error {
	name, path := c.program(m)
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	known := err == nil
	if errors.Is(err, fs.ErrNotExist) {
		text, err = c.Bucket.Get(ctx, name, maxFile)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // whoever pushed the run had it no more
	}
	if err != nil {
		return err
	}
	if digest.SHA256Hex(text) != m.Plugin.SHA256 {
		return &artifact.MismatchError{RunID: m.RunID, Problems: []string{name + " has other content"}}
	}
	if bundle.IsManifest(text) {
		err := bundle.Receive(c.Bucket.FS(ctx), text, path, done.count)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // whoever pushed the run may have had them no more
			return refused(m.RunID, err)
		}
	}
	if known {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	done.count(int64(len(text)))
	return file.Write(path, text, 0o500)
}
