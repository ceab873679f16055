package cmd_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// TestLibrary reads runs of the lab and of the service over the API, with what the lab makes of
// them.
func TestLibrary(t *testing.T) {
	ring.Slow(t, "it runs the lab and the service")
	state, dir := t.TempDir(), project(t, "sma_cross")
	slow := ask(t, state, "run", "sma_cross", "--dir", dir).run(t).RunID
	fast := ask(t, state, "run", "sma_cross", "--dir", dir, "--set", "fast=5").run(t).RunID
	s := serve(t, state)
	defer s.end(syscall.SIGTERM)
	s.backtest(sample("sma_cross"))

	list := s.read(t, "/runs?sort=completed_at")
	rows := list["items"].([]any)
	if list["total"] != 3.0 || rows[0].(object)["run_id"] != slow || rows[1].(object)["run_id"] != fast {
		t.Fatalf("runs %v", list)
	}
	// The service's backtest of the defaults tries what the first run has tried.
	if place := rows[1].(object)["trials"].(object); place["n"] != 2.0 || place["position"] != 2.0 {
		t.Errorf("the second run is trial %v", place)
	}
	run := s.read(t, "/runs/"+fast)
	if test := run["test"].(object); test["state"] != "locked" {
		t.Errorf("the test is %v", test)
	}
	s.problem(t, "/runs/"+fast+"/trades?split=test", 409, "SPLIT_LOCKED")

	if compared := s.read(t, "/compare?ids="+slow+","+fast); compared["baseline"] != slow {
		t.Errorf("the baseline is %v", compared["baseline"])
	}
	for path, code := range map[string]string{
		"/compare": "VALIDATION_FAILED", "/compare?ids=" + fast: "VALIDATION_FAILED",
		"/compare?ids=" + fast + "," + fast: "VALIDATION_FAILED",
		"/compare?ids=a,b&x=1":              "VALIDATION_FAILED",
	} {
		s.problem(t, path, 400, code)
	}
	s.problem(t, "/compare?ids="+fast+",run_nothing", 404, "RUN_NOT_FOUND")
	s.problem(t, "/runs/run_nothing/report.html", 404, "RUN_NOT_FOUND")
	resp, sheet := s.request("GET", "/api/v1/runs/"+fast+"/report.html", nil)
	if !strings.Contains(resp.Header.Get("Content-Security-Policy"), "sandbox; default-src 'none'") ||
		!strings.Contains(string(sheet), "</html>") {
		t.Errorf("the sheet has the policy %q", resp.Header.Get("Content-Security-Policy"))
	}

	// A file that was changed is not read.
	file := filepath.Join(state, "runs", slow, "splits", "train", "trades.csv")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, file, append(text, 'x'))
	s.problem(t, "/runs/"+slow+"/trades?split=train", 409, "ARTIFACT_MISMATCH")
}

func (s *service) read(t *testing.T, path string) object {
	t.Helper()
	var out object
	if resp := s.call("GET", path, nil, &out); resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d %v", path, resp.StatusCode, out)
	}
	return out
}

func (s *service) problem(t *testing.T, path string, status int, code string) {
	t.Helper()
	var out object
	resp := s.call("GET", path, nil, &out)
	if got := out["error"].(object)["code"]; resp.StatusCode != status || got != code {
		t.Errorf("GET %s: %d %v, want %d %s", path, resp.StatusCode, got, status, code)
	}
}
