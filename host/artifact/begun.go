package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Begin makes the folder of a run that begins: its request and its splits, so that one
// that a crash cuts short keeps what it was asked. The manifest must be complete. Write
// replaces the folder.
func (s *Store) Begin(runID string, m *Manifest) error {
	st, err := newStage(s.root, runID, s.checkpoint)
	if err != nil {
		return err
	}
	if err = st.question(m); err == nil {
		err = st.publish(runID, nil)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("folder of %s: %w", runID, err), st.discard())
	}
	return nil
}

// Began reads what Begin has written. The error is fs.ErrNotExist where the run has no
// folder, or one with more in it.
func (s *Store) Began(runID string) (*Manifest, error) {
	if !s.begun(runID) {
		return nil, fmt.Errorf("folder of %s as it began: %w", runID, fs.ErrNotExist)
	}
	m := &Manifest{}
	for name, to := range map[string]any{requestName: &m.Request, splitsName: &m.Splits} {
		text, err := os.ReadFile(filepath.Join(s.Dir(runID), name))
		if err == nil {
			err = json.Unmarshal(text, to)
		}
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", name, runID, err)
		}
	}
	return m, nil
}

// begun reports whether the folder of a run has only what Begin has written.
func (s *Store) begun(runID string) bool {
	entries, err := os.ReadDir(s.Dir(runID))
	return err == nil && len(entries) == 2 && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !e.Type().IsRegular() || e.Name() != requestName && e.Name() != splitsName
	})
}

// Withdraw removes the folder of a run as Begin has made it; any other stays.
func (s *Store) Withdraw(runID string) error {
	if !s.begun(runID) {
		return nil
	}
	return os.RemoveAll(s.Dir(runID))
}
