// Package e2e_test tests the dashboard in a real headless Chromium against the real
// service with real plugins. Each file of suites is one subtest; run.mjs runs it and
// prints its findings. Where Chromium, Node or the packages of npm ci are absent the
// tests are skipped, unless ASSAY_E2E=required.
package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/registry"
)

// finding is one line of run.mjs.
type finding struct {
	Name    string
	OK      bool
	Skip    string
	Detail  string
	Seconds float64
}

//ring:beside a browser waits more than it computes

// mainPath is the first line of the suites that make test runs. They are the same in every ring: make
// prove runs the others, make soak all.
const mainPath = "// ring: test\n"

// TestDashboard runs every suite but those that have a test of their own; each starts a
// service and a browser for itself and mostly waits, so that they run side by side.
// ASSAY_E2E_ONLY is a regular expression of the tests inside the suites that are to run.
func TestDashboard(t *testing.T) {
	c := prepare(t)
	files, err := filepath.Glob("suites/*.mjs")
	if err != nil || len(files) == 0 {
		t.Fatal("no suites", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".mjs")
		if name == "u15_budget" || name == "u24_many" || name == "soak" ||
			name == "screenshots" && c.Screenshots != "" {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		isMain := strings.HasPrefix(string(source), mainPath)
		if ring.At() < ring.Soak && os.Getenv("ASSAY_E2E_ONLY") == "" && isMain == (ring.At() == ring.Prove) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// half a minute to two of them, on a machine that has nothing else to do
			c.run(t, name, 10*time.Minute)
		})
	}
}

// TestBudget measures what the page costs in a browser for people, if there is one.
func TestBudget(t *testing.T) {
	ring.Proof(t, "it measures for a minute")
	c := prepare(t)
	c.Chromium = chromium(t, append(withWindows(), shell)...)
	c.run(t, "u15_budget", 6*time.Minute)
}

// TestManyRuns opens the list of ten thousand runs in a browser.
func TestManyRuns(t *testing.T) {
	ring.Proof(t, "it fills a registry with thousands of runs")
	c := prepare(t)
	c.State, c.Many = t.TempDir(), ring.Size(1_000, 10_000, 10_000)
	store := artifact.NewStore(filepath.Join(c.State, "runs"))
	runs, err := registry.Open(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	apitest.AddRun(t, store, runs, "run_lab", 1)
	apitest.AddRuns(t, store, runs, c.Many-1)
	if err := runs.Close(); err != nil {
		t.Fatal(err)
	}
	c.run(t, "u24_many", 5*time.Minute)
}

// TestScreenshots takes pictures of all states of the page, into the folder ASSAY_SCREENSHOTS.
// TestDashboard takes a few, which it does not keep.
func TestScreenshots(t *testing.T) {
	if os.Getenv("ASSAY_SCREENSHOTS") == "" {
		t.Skip("needs ASSAY_SCREENSHOTS, a folder for the pictures")
	}
	c := prepare(t)
	c.run(t, "screenshots", 20*time.Minute)
	c.run(t, "u18_lab", 5*time.Minute) // the other pages
}

// TestSoak holds the page to its budget of memory for minutes, and to the
// largest run and table.
func TestSoak(t *testing.T) {
	ring.Long(t, "it goes on for minutes")
	c := prepare(t)
	c.Soak = ring.Minutes()
	c.run(t, "soak", time.Duration(c.Soak)*time.Minute+10*time.Minute)
}

// run runs one suite and makes each finding a subtest. A suite that breaks off has failed.
func (c configuration) run(t *testing.T, suite string, limit time.Duration) {
	c.Temp = t.TempDir()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "run.mjs", suite, string(text))
	// service and browser end with it
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	stdin, err := cmd.StdinPipe() // closes when this process is gone, however it went
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v (%v)\n%s", err, ctx.Err(), stderr.Bytes())
	}
	if last := judge(t, out); last != "end" {
		t.Errorf("it broke off after %q\n%s", last, stderr.Bytes())
	}
}

// judge makes a subtest of each finding and returns the last one's name.
func judge(t *testing.T, out []byte) (last string) {
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var f finding
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatalf("%v in %s", err, lines.Bytes())
		}
		last = f.Name
		t.Run(f.Name, func(t *testing.T) {
			if f.Seconds > 0 {
				t.Logf("%.1f s", f.Seconds)
			}
			switch {
			case f.Skip != "":
				t.Skip(f.Skip)
			case !f.OK:
				t.Error(f.Detail)
			case f.Detail != "":
				t.Log(f.Detail)
			}
		})
	}
	return last
}
