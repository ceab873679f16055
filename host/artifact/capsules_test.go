package artifact

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/assay-run/assay/host/base/file"
)

func TestCapsulesOutliveTheirRun(t *testing.T) {
	store, run := NewStore(t.TempDir()), fixtureRun(t, 5)
	run.Status = StatusFailed
	want := func(n int) map[string][]byte {
		t.Helper()
		list, err := store.Capsules(run.ID)
		if err != nil || len(list) != n {
			t.Fatalf("%d capsules, want %d, %v", len(list), n, err)
		}
		return list
	}
	want(0)
	// Before there is a run: as of one that was interrupted. A sweep leaves it alone.
	if err := store.AddCapsule(run.ID, "fc_a.json", []byte("a")); err != nil {
		t.Fatal(err)
	}
	if folders, err := store.Sweep(); err != nil || len(folders) != 0 {
		t.Errorf("swept %+v, %v", folders, err)
	}
	if _, err := store.Replace(run); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(store.Root(), orphanDir)); err == nil {
		t.Error("a folder of capsules was orphaned")
	}
	if string(want(1)["fc_a.json"]) != "a" {
		t.Error("the capsule has other content")
	}
	// Beside the files of a run, also where it is made again.
	if err := store.AddCapsule(run.ID, "fc_b.json", []byte("b")); err != nil {
		t.Fatal(err)
	}
	if err := store.AddCapsule(run.ID, "fc_a.json", []byte("A")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Replace(run); err != nil {
		t.Fatal(err)
	}
	if list := want(2); string(list["fc_a.json"]) != "A" || string(list["fc_b.json"]) != "b" {
		t.Errorf("%s", list)
	}
	if _, _, err := Verify(store.Dir(run.ID)); err != nil {
		t.Error(err)
	}
	// A run that cannot be written keeps them.
	run.Splits[0].Results = nil
	if _, err := store.Replace(run); err == nil {
		t.Fatal("a run without results was written")
	}
	want(2)
	if left, err := filepath.Glob(filepath.Join(store.Dir(run.ID), "capsules",
		file.TempPrefix+"*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
