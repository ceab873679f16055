package cmd_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk: a run that finds no room ends with a clear error and leaves nothing half;
// the next one, with room, succeeds. So it is where nothing can be written.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	runs := filepath.Join(state, "runs")
	if err := os.MkdirAll(runs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", runs, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("needs root, to mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(runs, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	remount := func(flags uintptr, options string) {
		t.Helper()
		if err := syscall.Mount("none", runs, "tmpfs", syscall.MS_REMOUNT|flags, options); err != nil {
			t.Fatal(err)
		}
	}
	if err := makeProject("crosser", dir); err != nil {
		t.Fatal(err)
	}
	run := func() (int, string) {
		return labIn(t.Context(), t, io.Discard, "run", "crosser", "--dir", dir, "--state-dir", state,
			"--json")
	}
	if code, out := run(); code != 4 || !strings.Contains(out, `"code":"INTERNAL"`) ||
		!strings.Contains(out, "no space left on device") {
		t.Errorf("exit %d, %s", code, out)
	}
	entries, err := os.ReadDir(runs)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "registry.sqlite3") {
			t.Errorf("left behind: %s", e.Name())
		}
	}
	if code, out := labIn(t.Context(), t, io.Discard, "runs", "list", "--state-dir", state,
		"--json"); code != 0 || !strings.Contains(out, `"runs":[]`) {
		t.Errorf("exit %d, %s", code, out)
	}

	// Not even a row.
	fill := filepath.Join(runs, "fill")
	for size := 1 << 20; size >= 1024; size /= 2 {
		f, err := os.OpenFile(fill, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.Write(make([]byte, size)) // as much as there is room for
		_ = f.Close()
	}
	if code, out := run(); code != 4 || !strings.Contains(out, `"code":"INTERNAL"`) ||
		!strings.Contains(out, "no space left on device") {
		t.Errorf("exit %d, %s", code, out)
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}

	remount(syscall.MS_RDONLY, "size=64m")
	if code, out := run(); code != 4 || !strings.Contains(out, `"code":"INTERNAL"`) ||
		!strings.Contains(out, "read-only file system") {
		t.Errorf("exit %d, %s", code, out)
	}

	remount(0, "size=64m")
	if code, out := run(); code != 0 || !strings.Contains(out, `"reused":false`) {
		t.Errorf("exit %d, %s", code, out)
	}
	if code, out := labIn(t.Context(), t, io.Discard, "runs", "verify", "--state-dir", state,
		"--json"); code != 0 {
		t.Errorf("exit %d, %s", code, out)
	}
}
