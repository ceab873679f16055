package catalog

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/proc/programs"
	"github.com/assay-run/assay/plugin-sdk/strategypb"
	"github.com/assay-run/assay/plugin-sdk/wire"
)

const lockFormat = 1

// lockFile remembers by hash what plugins said about themselves, so that a start
// does not have to probe what it knows. It can be deleted at any time.
type lockFile struct {
	path    string
	changed bool
	content lockContent
}

type lockContent struct {
	Format  int                  `json:"format"`
	Plugins map[string]lockEntry `json:"plugins"`
}

type lockEntry struct {
	SDKVersion      string          `json:"sdk_version"`
	ProtocolVersion int             `json:"protocol_version"`
	Spec            json.RawMessage `json:"spec"`
}

// readLock reads the file. One that is missing, broken or of another format is
// begun anew; the error says why and is for the log only.
func readLock(stateDir string) (*lockFile, error) {
	l := &lockFile{path: filepath.Join(stateDir, "plugins.lock.json")}
	b, err := os.ReadFile(l.path)
	if err == nil {
		err = json.Unmarshal(b, &l.content)
	}
	if err == nil && l.content.Format != lockFormat {
		err = errors.New("another format")
	}
	if err != nil || l.content.Plugins == nil {
		l.content = lockContent{Format: lockFormat, Plugins: map[string]lockEntry{}}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return l, err
}

// spec returns what the program with this hash said about itself, nil if unknown.
func (l *lockFile) spec(sum string) *strategypb.Spec {
	e, ok := l.content.Plugins[sum]
	if !ok || e.ProtocolVersion != wire.ProtocolVersion {
		return nil
	}
	spec := &strategypb.Spec{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(e.Spec, spec); err != nil {
		return nil
	}
	return spec
}

func (l *lockFile) set(sum string, spec *strategypb.Spec) error {
	b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(spec)
	if err != nil {
		return err
	}
	l.content.Plugins[sum] = lockEntry{
		SDKVersion: spec.GetSdkVersion(), ProtocolVersion: wire.ProtocolVersion, Spec: b,
	}
	l.changed = true
	return nil
}

// save writes the file if something changed, without the entries whose copy is gone.
func (l *lockFile) save(s programs.Store) error {
	if !l.changed {
		return nil
	}
	for sum := range l.content.Plugins {
		if !s.Has(sum) {
			delete(l.content.Plugins, sum)
		}
	}
	b, err := json.MarshalIndent(l.content, "", "  ")
	if err != nil {
		return err
	}
	return file.Write(l.path, append(b, '\n'), 0o600)
}
