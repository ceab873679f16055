package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/field"
	"github.com/assay-run/assay/host/base/file"
)

const schemaMemory = "registry-memory/v1"

// maxMemory bounds what is read of a file, in bytes.
const maxMemory = 64 << 20

// Memory keeps, for each family, the highest registry version ever seen and the newest
// registry, in <dir>/<family>.json. It is what keeps an old registry, signed as it is, from
// bringing back what was revoked, also after a restart.
type Memory struct {
	dir string

	mu    sync.Mutex
	known map[string]kept
}

// kept is what is remembered of a family.
type kept struct {
	version int64
	sealed  []byte // the newest registry as Open takes it
	stored  bool
}

// NewMemory keeps files in a folder, which is made when it is needed.
func NewMemory(dir string) *Memory { return &Memory{dir: dir, known: map[string]kept{}} }

// rollbackError: the registry is older than one that was seen.
type rollbackError struct{ seen int64 }

func (e *rollbackError) Error() string { return fmt.Sprintf("version %d was seen before", e.seen) }

// damagedError: a file is there and does not say what was seen.
type damagedError struct {
	file   string
	reason string
}

func (e *damagedError) Error() string { return e.file + " is damaged: " + e.reason }

// keepError: what was seen could not be written. The registry itself is good.
type keepError struct{ cause error }

func (e *keepError) Error() string {
	return fmt.Sprintf("the registry's version could not be kept: %v", e.cause)
}
func (e *keepError) Unwrap() error { return e.cause }

// Last is the newest registry of a family as Open takes it, nil if there is none.
func (m *Memory) Last(family string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.load(family)
	return k.sealed, err
}

// See remembers a registry. It is on disk when See returns without an error. The error is a
// *rollbackError if a higher version was seen, *damagedError, or *keepError: then the version
// is remembered for as long as the process lives.
func (m *Memory) See(r *Registry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.load(r.FamilyID)
	if err != nil {
		return err
	}
	if r.Version < k.version {
		return &rollbackError{k.version}
	}
	if r.Version == k.version && k.stored && bytes.Equal(k.sealed, r.sealed) {
		return nil
	}
	k = kept{version: r.Version, sealed: r.sealed}
	m.known[r.FamilyID] = k
	if err := m.store(r); err != nil {
		return &keepError{err}
	}
	k.stored = true
	m.known[r.FamilyID] = k
	return nil
}

// load is what is known of a family; the file is read once.
func (m *Memory) load(family string) (kept, error) {
	if k, ok := m.known[family]; ok {
		return k, nil
	}
	k, err := m.read(family)
	if err == nil {
		m.known[family] = k
	}
	return k, err
}

func (m *Memory) path(family string) string { return filepath.Join(m.dir, family+".json") }

func (m *Memory) read(family string) (kept, error) {
	f, err := os.Open(m.path(family))
	if errors.Is(err, fs.ErrNotExist) {
		return kept{}, nil
	}
	bad := &damagedError{file: filepath.Join(filepath.Base(m.dir), family+".json"), reason: "it cannot be read"}
	if err != nil {
		return kept{}, bad
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMemory))
	if err != nil {
		return kept{}, bad
	}
	k, err := parseMemory(text, family)
	if err != nil {
		bad.reason = err.Error()
		return kept{}, bad
	}
	return k, nil
}

// parseMemory reads a file of the memory.
func parseMemory(text []byte, family string) (kept, error) {
	v, refused := field.Parse(text)
	if refused != nil {
		return kept{}, refused
	}
	var known struct {
		Schema   string          `json:"schema"`
		FamilyID string          `json:"family_id"`
		Version  int64           `json:"registry_version"`
		Registry json.RawMessage `json:"registry"`
	}
	r := &field.Reader{Lax: true}
	if r.Struct(v, "", &known); r.Failed() {
		return kept{}, r.Err()
	}
	if known.Schema != schemaMemory || known.FamilyID != family {
		return kept{}, errors.New("it is another file")
	}
	return kept{version: known.Version, sealed: known.Registry, stored: true}, nil
}

// store replaces the file as a whole: after a crash it is the old one or the new one, and the
// new one is on disk when store returns.
func (m *Memory) store(r *Registry) error {
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return err
	}
	sealed, err := digest.Strict(r.sealed, field.MaxDepth)
	if err != nil {
		return err
	}
	text := digest.Tree(map[string]any{
		"schema": schemaMemory, "family_id": r.FamilyID, "registry_version": float64(r.Version), "registry": sealed,
	})
	return file.Write(m.path(r.FamilyID), text, 0o600)
}
