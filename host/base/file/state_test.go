package file_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/assay-run/assay/host/base/file"
)

func TestStateIsFoundUpwards(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	want := func(working, path string) {
		t.Helper()
		if got := file.FindState(working); got != path {
			t.Errorf("from %s: %s, want %s", working, got, path)
		}
	}
	want(deep, file.StateFolder)
	if err := os.WriteFile(filepath.Join(root, "a", file.StateFolder), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	far := filepath.Join(root, file.StateFolder)
	if err := os.Mkdir(far, 0o700); err != nil {
		t.Fatal(err)
	}
	want(deep, far) // a plain file on the way is no state directory
	want(root, file.StateFolder)
	if err := os.Mkdir(filepath.Join(deep, file.StateFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	want(deep, file.StateFolder)
}

// Programs are started from a state directory, so one that somebody else has put into a
// shared folder such as /tmp must not be picked up.
func TestStateOfAnotherUserIsPassedOver(t *testing.T) {
	root := t.TempDir()
	theirs, work := filepath.Join(root, file.StateFolder), filepath.Join(root, "work")
	for _, dir := range []string{theirs, work} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(theirs, os.Getuid()+1, -1); err != nil {
		t.Skip("needs root: only root can change the owner of a folder")
	}
	if got := file.FindState(work); got != file.StateFolder {
		t.Errorf("%s is used", got)
	}
	if got := file.FindState(root); got != file.StateFolder {
		t.Errorf("%s in the working directory itself", got)
	}
}
