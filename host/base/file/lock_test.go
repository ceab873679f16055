package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/assay-run/assay/host/base/file"
)

func TestOneHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	first, err := file.LockState(dir, "a.lock")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	if _, err := file.LockState(dir, "a.lock"); !errors.Is(err, file.ErrHeld) {
		t.Errorf("a second holder: %v", err)
	}
	other, err := file.LockState(dir, "b.lock")
	if err != nil {
		t.Fatalf("another lock: %v", err)
	}
	other.Release()
	first.Release()
	again, err := file.LockState(dir, "a.lock")
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	again.Release()
}
