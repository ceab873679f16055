package catalog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/assay-run/assay/host/proc"
)

func TestLockForgetsWhatIsGone(t *testing.T) {
	dir := t.TempDir()
	s, err := proc.OpenStore(filepath.Join(dir, "plugins"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := readLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range []string{"kept", "gone"} {
		if err := l.set(sum, goodSpec("good")); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(dir, "plugins"), "kept", "", 0o500)
	if err := l.save(s); err != nil {
		t.Fatal(err)
	}
	again, err := readLock(dir)
	if err != nil || len(again.content.Plugins) != 1 || again.content.Plugins["kept"].SDKVersion != "1.0.0" {
		t.Errorf("got %+v, %v", again.content, err)
	}
	if spec := again.spec("kept"); spec.GetName() != "good" ||
		spec.GetParamsSchema() != goodSpec("good").ParamsSchema {
		t.Errorf("got %v", spec)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the state folder has %v, %v", entries, err)
	}
}
