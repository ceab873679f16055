package statelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/assay-run/assay/host/base/statelock"
)

func TestOneHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	first, err := statelock.Acquire(dir, "a.lock")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	if _, err := statelock.Acquire(dir, "a.lock"); !errors.Is(err, statelock.ErrHeld) {
		t.Errorf("a second holder: %v", err)
	}
	other, err := statelock.Acquire(dir, "b.lock")
	if err != nil {
		t.Fatalf("another lock: %v", err)
	}
	other.Release()
	first.Release()
	again, err := statelock.Acquire(dir, "a.lock")
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	again.Release()
}
