package cmd_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// binary is the real lab binary in a state directory of its own.
type binary struct {
	t        *testing.T
	bin, dir string
}

func newCLI(t *testing.T) *binary {
	t.Helper()
	ring.Slow(t, "it builds the lab and a strategy and runs them")
	folder := t.TempDir()
	c := &binary{t: t, bin: filepath.Join(folder, "lab"), dir: t.TempDir()}
	if err := hosttest.Build(folder, "v1", "cmd/lab"); err != nil {
		t.Fatal(err)
	}
	return c
}

// run calls the lab and returns its exit code and what it printed.
func (c *binary) run(args ...string) (code int, stdout, stderr string) {
	c.t.Helper()
	cmd := exec.Command(c.bin, append(args, "--state-dir", c.dir, "--quiet")...)
	cmd.Env = append(os.Environ(), "USER=eve")
	var out, log strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), out.String(), log.String()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return 0, out.String(), log.String()
}

// result runs a command with --json that must exit with a code, and decodes result.
func (c *binary) result(into any, code int, args ...string) {
	c.t.Helper()
	got, stdout, stderr := c.run(append(args, "--json")...)
	if got != code {
		c.t.Fatalf("lab %v: exit code %d, want %d: %s%s", args, got, code, stdout, stderr)
	}
	var envelope struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal([]byte(stdout), &envelope); err != nil {
		c.t.Fatalf("lab %v: %v: %s", args, err, stdout)
	}
	if into != nil {
		if err := json.Unmarshal(envelope.Result, into); err != nil {
			c.t.Fatalf("lab %v: %v: %s", args, err, stdout)
		}
	}
}

type ranRun struct {
	RunID    string `json:"run_id"`
	PostPeek bool   `json:"post_peek"`
	Test     *struct {
		Metrics map[string]*float64 `json:"metrics"`
	} `json:"test"`
}

type compared struct {
	Schema, Slug, Baseline, Split string
	Comparability                 struct {
		Comparable  bool
		Differences []struct{ Aspect string }
	}
	Differs []struct {
		Pointer string
		Values  map[string]any
	}
	Runs []struct {
		RunID     string `json:"run_id"`
		Params    map[string]any
		Metrics   map[string]*float64
		Delta     map[string]*float64
		Selection struct {
			NTrials   int  `json:"n_trials"`
			TestPeeks int  `json:"test_peeks"`
			PostPeek  bool `json:"post_peek"`
		}
		Splits []struct {
			ID      string `json:"split_id"`
			Status  string
			Metrics map[string]*float64
		}
	}
	Pairs []struct {
		RunID          string   `json:"run_id"`
		MeanDifference *float64 `json:"mean_difference"`
		CI95           []float64
		P              *float64
		Days           int
	}
}

// TestCompareRunsOfSMACross is the whole way of a person: run twice, compare, look at
// the test, run something new, compare what cannot be compared.
func TestCompareRunsOfSMACross(t *testing.T) {
	ring.Proof(t, "it plays four runs to compare them")
	c := newCLI(t)
	var first, second, third, other ranRun
	c.result(&first, 0, "run", "sma_cross")
	c.result(&second, 0, "run", "sma_cross", "--set", "fast=5")
	if first.PostPeek || first.Test != nil {
		t.Errorf("%+v", first)
	}
	var got compared
	c.result(&got, 0, "compare", "sma_cross", "--fail-on-incomparable")
	if got.Schema != "compare/v1" || got.Slug != "sma_cross" || got.Baseline != first.RunID ||
		got.Split != "walk_forward" || !got.Comparability.Comparable || len(got.Runs) != 2 {
		t.Fatalf("%+v", got)
	}
	if len(got.Differs) != 1 || got.Differs[0].Pointer != "/params/fast" ||
		got.Differs[0].Values[first.RunID] != 10.0 || got.Differs[0].Values[second.RunID] != 5.0 {
		t.Errorf("%+v", got.Differs)
	}
	if p := got.Pairs; len(p) != 1 || p[0].RunID != second.RunID || p[0].Days != 1218 || *p[0].P <= 0 ||
		p[0].CI95[0] >= *p[0].MeanDifference || p[0].CI95[1] <= *p[0].MeanDifference {
		t.Errorf("%+v", p)
	}
	for _, r := range got.Runs {
		if r.Selection.NTrials != 2 || r.Selection.TestPeeks != 0 || r.Metrics["sharpe_ratio"] == nil {
			t.Errorf("%+v", r)
		}
		for _, s := range r.Splits {
			if s.ID == "test" && (s.Status != "locked" || s.Metrics["total_return"] != nil) {
				t.Errorf("the test is shown: %+v", s)
			}
		}
	}

	c.result(&first, 0, "run", "sma_cross", "--reveal-test")
	if first.Test == nil || first.Test.Metrics["total_return"] == nil || first.PostPeek {
		t.Errorf("%+v", first)
	}
	c.result(&third, 0, "run", "sma_cross", "--set", "fast=7")
	c.result(&second, 0, "run", "sma_cross", "--set", "fast=5", "--force")
	if !third.PostPeek || second.PostPeek {
		t.Errorf("new after the look: %v, tried before: %v", third.PostPeek, second.PostPeek)
	}
	c.result(&got, 0, "compare", "sma_cross", first.RunID, third.RunID, "--split", "test", "--reveal-test")
	for _, r := range got.Runs {
		if r.Metrics["total_return"] == nil || r.Selection.TestPeeks != 3 || r.Selection.NTrials != 3 ||
			r.Selection.PostPeek != (r.RunID == third.RunID) {
			t.Errorf("%+v", r)
		}
		if r.RunID == first.RunID && *r.Metrics["total_return"] != *first.Test.Metrics["total_return"] {
			t.Errorf("compare says %v, run %v", *r.Metrics["total_return"],
				*first.Test.Metrics["total_return"])
		}
	}

	c.otherWindow(&other)
	code, stdout, stderr := c.run("compare", "sma_cross", first.RunID, other.RunID, "--fail-on-incomparable")
	if code != 3 || !strings.Contains(stderr, "INCOMPARABLE") ||
		!strings.Contains(stdout, "~ "+other.RunID) || !strings.Contains(stdout, "~ data") ||
		!strings.Contains(stdout, "~ splits") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	c.formats(first.RunID, second.RunID)
}

// otherWindow runs the strategy on a part of the candles.
func (c *binary) otherWindow(into *ranRun) {
	c.t.Helper()
	program := filepath.Join(c.dir, "build", "sma_cross")
	dir := c.t.TempDir()
	config := `{"schema":"lab/v1","slug":"sma_cross","exchange":"sample","symbols":["BTC/USDT"],"timeframe":"1h","data":{"start":"2023-01-01"}}`
	if err := os.WriteFile(filepath.Join(dir, "lab.json"), []byte(config), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.result(into, 0, "run", "sma_cross", "--dir", dir, "--plugin", program)
}

// formats are views of one answer.
func (c *binary) formats(first, second string) {
	c.t.Helper()
	of := func(format string) string {
		code, stdout, stderr := c.run("compare", "sma_cross", first, second, "--format", format)
		if code != 0 {
			c.t.Fatalf("%s: exit code %d: %s", format, code, stderr)
		}
		return stdout
	}
	var bare compared
	if err := json.Unmarshal([]byte(of("json")), &bare); err != nil || bare.Schema != "compare/v1" {
		c.t.Errorf("%v, %+v", err, bare)
	}
	if rows, err := csv.NewReader(strings.NewReader(of("csv"))).ReadAll(); err != nil || len(rows) != 3 ||
		rows[0][0] != "run_id" {
		c.t.Errorf("%v, %v", rows, err)
	}
	for _, format := range []string{"table", "md"} {
		if s := of(format); !strings.Contains(s, "is it real") || !strings.Contains(s, "10 -> 5") ||
			!strings.Contains(s, "/params/fast") {
			c.t.Errorf("%s:\n%s", format, s)
		}
	}
}
