package ui_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestDistIsARebuild runs the builder, which is a module of its own.
func TestDistIsARebuild(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the bundler: left out with -short")
	}
	out := t.TempDir()
	cmd := exec.Command("go", "run", ".", "-o", out)
	cmd.Dir = "tool"
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	files := dist(t)
	built, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(built) != len(files) {
		t.Errorf("%d files are built, dist has %d", len(built), len(files))
	}
	for _, e := range built {
		data, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(data, files[e.Name()]) {
			t.Errorf("dist is stale: %s differs (make ui)", e.Name())
		}
	}
}
