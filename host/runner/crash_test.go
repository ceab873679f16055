package runner

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
)

const crashRoot = "ASSAY_TEST_CRASH_ROOT"

// crashHelper makes the test binary a service that runs one backtest after the other
// and prints the id of each that it has shown as completed, until it is killed.
func crashHelper() bool {
	root := os.Getenv(crashRoot)
	if root == "" {
		return false
	}
	ctx := context.Background()
	store := artifact.NewStore(root)
	reg, err := registry.Open(ctx, store, nil)
	if err != nil {
		fmt.Println("error", err)
		return true
	}
	r := New(Options{Recorder: &Archive{Store: store, Registry: reg}})
	changes, cancel := r.Subscribe()
	defer cancel()
	for {
		e := newDescribed()
		e.finish(Outcome{})
		if _, err := r.Start(ctx, backtest(), launching(e)); err != nil {
			fmt.Println("error", err)
			return true
		}
		for c := range changes {
			if c.Snapshot.Status == StatusCompleted {
				fmt.Println(c.Snapshot.RunID)
				break
			}
		}
		if _, err := r.Reset(ctx); err != nil {
			fmt.Println("error", err)
			return true
		}
	}
}

// TestKilledService kills the service at odd moments. Whatever has been shown as
// completed is there and whole; the run that was on is adopted or interrupted; a
// folder is never half there.
func TestKilledService(t *testing.T) {
	root := filepath.Join(t.TempDir(), "runs")
	shown := map[string]bool{}
	for i := range 12 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashRoot+"="+root)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "error") {
				t.Error(lines.Text())
			}
			shown[lines.Text()] = true
			// The next run has begun by now; a few hundred microseconds further each time.
			time.AfterFunc(time.Duration(i)*700*time.Microsecond, func() { _ = cmd.Process.Kill() })
		}
		_ = cmd.Wait() // it was killed
		checkAfterCrash(t, root, shown)
	}
	if len(shown) < 12 {
		t.Errorf("only %d runs were completed", len(shown))
	}
}

func checkAfterCrash(t *testing.T, root string, shown map[string]bool) {
	t.Helper()
	a := openArchive(t, root)
	defer a.Registry.Close()
	if _, err := a.Registry.InterruptService(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := a.Registry.ListMetadata(t.Context(), registry.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	completed := map[string]bool{}
	for _, row := range rows {
		switch row.Status {
		case "completed":
			completed[row.RunID] = true
			if _, payload, err := artifact.Verify(a.Store.Dir(row.RunID)); err != nil ||
				string(payload) != string(row.Payload) {
				t.Errorf("%s is completed: %v", row.RunID, err)
			}
		case "failed":
			_, err := a.Store.Began(row.RunID)
			if err != nil || !strings.Contains(string(row.Payload), CodeRunInterrupted) {
				t.Errorf("%s was interrupted: %v", row.RunID, err)
			}
		default:
			t.Errorf("%s is %s", row.RunID, row.Status)
		}
	}
	for id := range shown {
		if !completed[id] {
			t.Errorf("%s was shown as completed and is gone", id)
		}
	}
	if left, err := filepath.Glob(filepath.Join(root, ".tmp-*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
