package cmd_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/cmd"
)

// watcher calls a function when it is given a word.
type watcher struct {
	word string
	call func()
}

func (w *watcher) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(w.word)) {
		w.call()
	}
	return len(b), nil
}

func labIn(ctx context.Context, t *testing.T, errs io.Writer, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	none := func(string) string { return "" }
	return cmd.Main(ctx, args, cmd.IO{Out: &out, Err: errs, Getenv: none}), out.String()
}

func TestAnInterruptedRunKeepsACapsule(t *testing.T) {
	dir := t.TempDir()
	if err := makeProject("blocks", dir); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	ctx, cancel := context.WithCancel(t.Context())
	code, out := labIn(ctx, t, &watcher{"blocked for good", cancel}, "run", "blocks", "--dir", dir,
		"--state-dir", state, "--set", "at=10", "--log-level", "debug", "--json")
	if code != 3 || !strings.Contains(out, `"code":"INTERRUPTED"`) {
		t.Fatalf("exit %d, %s", code, out)
	}
	// The next command settles what was left behind: the capsule stays.
	if code, out := labIn(t.Context(), t, io.Discard, "runs", "list", "--state-dir", state,
		"--json"); code != 0 || !strings.Contains(out, `"runs":[]`) {
		t.Errorf("exit %d, %s", code, out)
	}
	files, _ := filepath.Glob(filepath.Join(state, "runs", "run_*", "capsules", "*.json"))
	if len(files) != 1 {
		t.Fatalf("capsules: %v", files)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	c, err := capsule.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if c.Kind != capsule.Cancelled || c.Error.Code != "INTERRUPTED" || c.Where.CandleIndex == nil ||
		*c.Where.CandleIndex > 10 || len(c.LastEvents) == 0 {
		t.Errorf("%+v", c)
	}
	if code, out := labIn(t.Context(), t, io.Discard, "replay", files[0], "--state-dir", state); code != 1 ||
		!strings.Contains(out, "not reproduced") {
		t.Errorf("exit %d, %s", code, out)
	}
	// A run of the same request takes it along.
	if code, out := labIn(t.Context(), t, io.Discard, "run", "blocks", "--dir", dir, "--state-dir", state,
		"--set", "at=10", "--plugin-timeout", "1s"); code != 1 {
		t.Errorf("exit %d, %s", code, out)
	}
	if files, _ := filepath.Glob(filepath.Join(state, "runs", "run_*", "capsules",
		"*.json")); len(files) != 2 {
		t.Errorf("capsules: %v", files)
	}
	if left, _ := os.ReadDir(filepath.Join(state, "runs", ".orphan")); len(left) != 0 {
		t.Errorf("orphans: %v", left)
	}
}
