package cmd_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// answers is what a run has come to.
type answers struct{ RunID, Request, Decisions, Result string }

// ran evaluates a strategy with a lab, in a folder, and reads the hashes of the answer.
func ran(t *testing.T, program, dir, state string, args ...string) answers {
	t.Helper()
	cmd := exec.Command(program,
		append([]string{"run", "sma_cross", "--json", "--quiet", "--state-dir", state}, args...)...)
	cmd.Dir = dir
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	var e struct {
		Result struct {
			RunID       string `json:"run_id"`
			RequestHash string `json:"request_hash"`
			ResultHash  string `json:"result_hash"`
		}
	}
	if jsonErr := json.Unmarshal(out.Bytes(), &e); err != nil || jsonErr != nil {
		t.Fatalf("%v, %v: %s%s", err, jsonErr, out.Bytes(), log.Bytes())
	}
	text, err := os.ReadFile(filepath.Join(state, "runs", e.Result.RunID, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		DecisionHash string `json:"decision_hash"`
		ResultHash   string `json:"result_hash"`
	}
	if err := json.Unmarshal(text, &report); err != nil || report.ResultHash != e.Result.ResultHash ||
		report.DecisionHash == "" {
		t.Fatalf("%v: %+v", err, report)
	}
	return answers{e.Result.RunID, e.Result.RequestHash, report.DecisionHash, report.ResultHash}
}

// clone copies the checkout without anything that was built in it.
func clone(t *testing.T, to string) {
	t.Helper()
	list, err := exec.Command("git", "-C", "..", "ls-files", "-z", "--cached", "--others",
		"--exclude-standard").Output()
	if err != nil {
		t.Skipf("needs a checkout of git, which it clones: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join("..", name))
		if os.IsNotExist(err) {
			continue // deleted and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// artifacts are the files of a run that have no clock in them.
func artifacts(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "metadata.json" {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Two clean clones in two folders, each with a lab and a plugin of its own making: the
// same question, the same answer, to the last byte.
func TestTwoClonesAgree(t *testing.T) {
	ring.Proof(t, "it builds the lab twice")
	var got [2]answers
	var files [2]map[string]string
	for i, name := range []string{"here", filepath.Join("somewhere else", "deeper")} {
		dir := filepath.Join(t.TempDir(), name)
		clone(t, dir)
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o",
			filepath.Join("bin", "lab"), "./cmd/lab")
		build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOAMD64=v1")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		got[i] = ran(t, filepath.Join(dir, "bin", "lab"), dir, filepath.Join(dir, ".assay"))
		files[i] = artifacts(t, filepath.Join(dir, ".assay", "runs", got[i].RunID))
	}
	if got[0] != got[1] {
		t.Errorf("the clones disagree: %+v, %+v", got[0], got[1])
	}
	for _, name := range []string{"request.json", "report.json", "splits.json", "splits/train/trades.csv",
		"splits/wf-04/equity_curve.csv", "splits/test/metrics.json"} {
		if files[0][name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if !maps.Equal(files[0], files[1]) {
		for name, text := range files[0] {
			if files[1][name] != text {
				t.Errorf("%s differs", name)
			}
		}
		t.Errorf("%d and %d files", len(files[0]), len(files[1]))
	}
	for name, text := range files[0] {
		if strings.Contains(text, os.TempDir()) {
			t.Errorf("%s knows where it was made", name)
		}
	}
}

// A lab and a plugin whose compiler may fuse products and sums come to the same result.
// Everything that the lab links is compiled once more for it, which takes minutes.
func TestSoakInstructionSetsAgree(t *testing.T) {
	ring.Long(t, "it builds everything for two processors")
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA || !cpu.X86.HasBMI1 || !cpu.X86.HasBMI2 {
		t.Skip("needs a processor with x86-64-v3 (AVX2, FMA, BMI)")
	}
	var got [2]answers
	var trades [2]string
	for i, level := range []string{"v1", "v3"} {
		dir := t.TempDir()
		if err := hosttest.Build(dir, level, "cmd/lab", "strategies/sma_cross"); err != nil {
			t.Fatal(err)
		}
		got[i] = ran(t, filepath.Join(dir, "lab"), "..", filepath.Join(dir, "state"), "--plugin",
			filepath.Join(dir, "sma_cross"), "--set", "fast=5")
		trades[i] = artifacts(t,
			filepath.Join(dir, "state", "runs", got[i].RunID))["splits/search/trades.csv"]
	}
	if got[0].Request == got[1].Request {
		t.Error("both have one request: they are the same programs")
	}
	if got[0].Result != got[1].Result || got[0].Decisions != got[1].Decisions || trades[0] != trades[1] ||
		trades[0] == "" {
		t.Errorf("v1 %+v, v3 %+v, trades are equal: %v", got[0], got[1], trades[0] == trades[1])
	}
}

// Backtests of the service are verified and executed again by the lab.
func TestTheLabVerifiesTheService(t *testing.T) {
	t.Parallel()
	ring.Slow(t, "it runs many programs")
	state := t.TempDir()
	s := serve(t, state)
	s.backtest(object{"strategy_name": "sma_cross", "symbols": []string{"BTC/USDT"}, "timeframe": "1h"})
	s.backtest(object{"strategy_name": "rsi_bracket", "symbols": []string{"BTC/USDT"}, "timeframe": "1h",
		"start_date": "2020-01-01", "end_date": "2020-06-01"})
	checked := ask(t, state, "runs", "verify", "--rerun")
	var result struct {
		Runs []struct {
			Kind       string
			OK         bool
			Reproduced *bool
		}
	}
	if err := json.Unmarshal(checked.Result, &result); err != nil || !checked.OK || len(result.Runs) != 2 {
		t.Fatalf("%v: %+v: %s", err, checked.Error, checked.Result)
	}
	for _, r := range result.Runs {
		if r.Kind != "service" || !r.OK || r.Reproduced == nil || !*r.Reproduced {
			t.Errorf("%+v", r)
		}
	}
}
