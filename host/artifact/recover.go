package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assay-run/assay/host/base/file"
)

// Begin makes the folder of a run that begins: its request and its splits, so that one
// that a crash cuts short keeps what it was asked. The manifest must be complete. Write
// replaces the folder.
func (s *Store) Begin(runID string, m *Manifest) error {
	st, err := newStage(s.root, runID, s.checkpoint)
	if err != nil {
		return err
	}
	if err = st.writeRequest(m); err == nil {
		err = st.publish(runID, nil)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("folder of %s: %w", runID, err), st.removeFolder())
	}
	return nil
}

// Began reads what Begin has written. The error is fs.ErrNotExist where the run has no
// folder, or one with more in it.
func (s *Store) Began(runID string) (*Manifest, error) {
	if !s.hasOnlyRequest(runID) {
		return nil, fmt.Errorf("folder of %s as it began: %w", runID, fs.ErrNotExist)
	}
	m := &Manifest{}
	for name, to := range map[string]any{requestName: &m.Request, splitsName: &m.Splits} {
		if err := readJSON(filepath.Join(s.Dir(runID), name), to); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// hasOnlyRequest reports whether the folder of a run has only what Begin has written.
func (s *Store) hasOnlyRequest(runID string) bool {
	entries, err := os.ReadDir(s.Dir(runID))
	return err == nil && len(entries) == 2 && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !e.Type().IsRegular() || e.Name() != requestName && e.Name() != splitsName
	})
}

// Withdraw removes the folder of a run as Begin has made it; any other stays.
func (s *Store) Withdraw(runID string) error {
	if !s.hasOnlyRequest(runID) {
		return nil
	}
	return os.RemoveAll(s.Dir(runID))
}

// Folder is a folder in a Store that may have been left behind by a crash.
type Folder struct {
	// Name is its name in the Store: the run id, but for a Temporary one.
	Name string
	// Temporary reports whether the folder was never put in its place.
	Temporary bool

	store *Store
	lock  *file.Lock // of a temporary folder
}

// Sweep lists the folders of all runs, and those in the making that no process works
// on any more. Release every one of them.
func (s *Store) Sweep() ([]*Folder, error) {
	if _, err := os.Stat(s.root); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	gate, err := file.LockDir(s.root)
	if err != nil {
		return nil, err
	}
	defer gate.Release()
	entries, err := os.ReadDir(s.root)
	if err != nil {
		return nil, err
	}
	var folders []*Folder
	for _, e := range entries {
		temporary := strings.HasPrefix(e.Name(), file.TempPrefix)
		if !e.IsDir() || !temporary && strings.HasPrefix(e.Name(), ".") {
			continue
		}
		f := &Folder{Name: e.Name(), Temporary: temporary, store: s}
		if !temporary && (f.onlyCapsules() || s.hasOnlyRequest(f.Name)) {
			continue // of a run that is on or was interrupted
		}
		if temporary {
			if f.lock, err = file.TryLockDir(f.path()); err != nil {
				return folders, err
			}
			if f.lock == nil {
				continue
			}
		}
		folders = append(folders, f)
	}
	return folders, nil
}

func (f *Folder) path() string { return filepath.Join(f.store.root, f.Name) }

// Verify is Verify of the folder; besides, a folder in its place must have the name
// of its run.
func (f *Folder) Verify() (*Metadata, []byte, error) {
	m, payload, err := Verify(f.path())
	if err == nil && !f.Temporary && m.RunID != f.Name {
		err = &MismatchError{RunID: f.Name, Problems: []string{"metadata.json is of run " + m.RunID}}
	}
	return m, payload, err
}

// HasMetadata reports whether the folder was ever finished.
func (f *Folder) HasMetadata() bool {
	_, err := os.Lstat(filepath.Join(f.path(), metadataName))
	return err == nil
}

// onlyCapsules reports whether nothing but capsules was ever written there.
func (f *Folder) onlyCapsules() bool {
	entries, err := os.ReadDir(f.path())
	return err == nil && len(entries) == 1 && entries[0].Name() == capsulesDir && entries[0].IsDir()
}

// Place puts a temporary folder that has been verified in its place.
func (f *Folder) Place(runID string) error {
	if !runIDForm.MatchString(runID) {
		return fmt.Errorf("run id %q is not of the form %s", runID, runIDForm)
	}
	return file.MoveDir(f.path(), f.store.Dir(runID))
}

// Orphan moves the folder out of the way to .orphan/ and returns where it is now. The
// capsules of a run stay in its place.
func (f *Folder) Orphan() (string, error) {
	to, err := f.moveAway()
	if err != nil || f.Temporary {
		return to, err
	}
	capsules, err := readCapsules(filepath.Join(to, capsulesDir))
	for name, content := range capsules {
		err = errors.Join(err, f.store.AddCapsule(f.Name, name, content))
	}
	return to, err
}

func (f *Folder) moveAway() (string, error) {
	// Its writer may have put it in its place since it was listed.
	if _, err := os.Lstat(f.path()); err != nil {
		return "", err
	}
	dir := filepath.Join(f.store.root, orphanDir)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return "", err
	}
	base := strings.TrimPrefix(f.Name, ".")
	to := filepath.Join(dir, base)
	for i := 2; ; i++ {
		err := file.MoveDir(f.path(), to)
		if !errors.Is(err, fs.ErrExist) || i > 1000 {
			return to, err
		}
		to = filepath.Join(dir, fmt.Sprintf("%s.%d", base, i))
	}
}

// Release gives the folder free.
func (f *Folder) Release() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Release()
}
