package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/lab/evaluate"
	"github.com/assay-run/assay/lab/project"
)

const (
	fileName = "plan.json"
	dirMode  = 0o700
)

// Dir is the folder of a plan, which also gets what its family puts out.
func Dir(stateDir, slug, planID string) string {
	return filepath.Join(stateDir, "families", slug, planID)
}

// Write puts a plan into its folder: all of it or nothing. A plan that is there already
// stays; one whose bytes are others is PLAN_HASH_MISMATCH.
func Write(stateDir string, f *File) error {
	dir := Dir(stateDir, f.Plan.Slug, f.ID)
	path := filepath.Join(dir, fileName)
	switch known, err := readBounded(path); {
	case err == nil && bytes.Equal(known, f.Text):
		return nil
	case err == nil:
		return mismatch(f.ID, f.Hash, digest.SHA256Hex(known))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	if err := file.Write(path, f.Text, 0o600); err != nil {
		return err
	}
	// The plan's folder may be new in that of the strategy, and that one in its own.
	for range 3 {
		if err := file.SyncDir(dir); err != nil {
			return err
		}
		dir = filepath.Dir(dir)
	}
	return nil
}

// Read reads the plan that was registered with a hash. The error is an *evaluate.Error:
// PLAN_NOT_FOUND, or PLAN_HASH_MISMATCH when the file is not what was registered.
func Read(stateDir, slug, planHash string) (*File, error) {
	planID, err := ID(planHash)
	if err != nil {
		return nil, err
	}
	if err := project.CheckSlug(slug); err != nil {
		return nil, err
	}
	text, err := readBounded(filepath.Join(Dir(stateDir, slug, planID), fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &evaluate.Error{
			Code: "PLAN_NOT_FOUND", Cause: err, Details: map[string]any{"plan_id": planID},
			Message: fmt.Sprintf("the file of %s is not in the state directory any more", planID),
		}
	}
	if err != nil {
		return nil, err
	}
	if now := digest.SHA256Hex(text); now != planHash {
		return nil, mismatch(planID, planHash, now)
	}
	f, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", planID, err)
	}
	if f.Plan.Slug != slug {
		return nil, fmt.Errorf("%s is a plan of %s, not of %s", planID, f.Plan.Slug, slug)
	}
	return f, nil
}

// readBounded reads a plan.json; of one that is too large it reads enough to tell.
func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	return text, errors.Join(err, file.Close())
}

func mismatch(planID, registered, now string) error {
	return &evaluate.Error{
		Code: "PLAN_HASH_MISMATCH",
		Message: fmt.Sprintf("%s of %s was changed after it was registered: its hash is %.12s…, not %.12s…; nothing was executed. A change is a new plan: lab family plan --amends %s",
			fileName, planID, now, registered, registered),
		Details: map[string]any{"plan_id": planID, "plan_hash": registered, "found": now},
	}
}
