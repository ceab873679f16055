package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// envelope is what every lab command prints with --json.
type envelope struct {
	OK       bool
	ExitCode int `json:"exit_code"`
	Result   json.RawMessage
	Error    struct{ Code, Message string }
}

type evaluated struct {
	RunID      string `json:"run_id"`
	ResultHash string `json:"result_hash"`
	Reused     bool
	Status     string
}

// project returns a folder with a lab.json for one of the programs of bin.
func project(t *testing.T, strategy string) string {
	t.Helper()
	dir := t.TempDir()
	text, err := json.Marshal(map[string]any{
		"schema": "lab/v1", "slug": strategy,
		"plugin":   map[string]string{"path": filepath.Join("bin", strategy)},
		"exchange": "sample", "symbols": []string{"BTC/USDT"}, "timeframe": "1h",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lab.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join(bin(t), "strategies", strategy))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", strategy), program, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func labCommand(t *testing.T, state string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin(t), "lab"),
		append(args, "--state-dir", state, "--json", "--quiet")...)
	var out bytes.Buffer
	cmd.Stdout = &out
	return cmd, &out
}

// ask runs a command and decodes what it prints.
func ask(t *testing.T, state string, args ...string) envelope {
	t.Helper()
	cmd, out := labCommand(t, state, args...)
	err := cmd.Run()
	var e envelope
	if jsonErr := json.Unmarshal(out.Bytes(), &e); jsonErr != nil {
		t.Errorf("lab %v: %v, %v: %s", args, err, jsonErr, out.Bytes())
	}
	return e
}

func (e envelope) run(t *testing.T) evaluated {
	t.Helper()
	var r evaluated
	if !e.OK {
		t.Errorf("%s: %s", e.Error.Code, e.Error.Message)
		return r
	}
	if err := json.Unmarshal(e.Result, &r); err != nil {
		t.Error(err)
	}
	return r
}

// However lab run is killed, there is a complete run or none, and the next one
// answers.
func TestKilledLabRun(t *testing.T) {
	ring.Proof(t, "it runs many programs, and kills them")
	dir, state := project(t, "sma_cross"), t.TempDir()
	began := time.Now()
	want := ask(t, filepath.Join(t.TempDir(), "calm"), "run", "sma_cross", "--dir", dir).run(t)
	whole := time.Since(began)
	const kills = 12
	for i := range kills {
		cmd, _ := labCommand(t, state, "run", "sma_cross", "--dir", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(whole * time.Duration(i+1) / time.Duration(kills))
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		entries, err := filepath.Glob(filepath.Join(state, "runs", "run_*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range entries {
			if _, err := os.Stat(filepath.Join(folder, "metadata.json")); err != nil {
				t.Errorf("kill %d leaves a part of a run: %v", i, err)
			}
		}
		if checked := ask(t, state, "runs", "verify"); !checked.OK {
			t.Errorf("kill %d: %s: %s", i, checked.Error.Code, checked.Error.Message)
		}
	}
	got := ask(t, state, "run", "sma_cross", "--dir", dir).run(t)
	if got.RunID != want.RunID || got.ResultHash != want.ResultHash || got.Status != "completed" {
		t.Errorf("got %+v, want %+v", got, want)
	}
	left, err := filepath.Glob(filepath.Join(state, "runs", ".tmp-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Several labs and a service share one registry: no row is lost and nobody hears of a
// busy file; of two that ask the same question one executes.
func TestLabsTogether(t *testing.T) {
	ring.Proof(t, "it runs many programs")
	dir, state := project(t, "sma_cross"), t.TempDir()
	s := serve(t, state)
	var wg sync.WaitGroup
	var mu sync.Mutex
	answers := map[string][]evaluated{}
	for i := range 6 {
		wg.Go(func() {
			fast := fmt.Sprint(5 + i/2) // each question twice
			r := ask(t, state, "run", "sma_cross", "--dir", dir, "--set", "fast="+fast).run(t)
			mu.Lock()
			defer mu.Unlock()
			answers[fast] = append(answers[fast], r)
		})
	}
	wg.Go(func() {
		for range 5 {
			s.backtest(object{"strategy_name": "sma_cross", "symbols": []string{"BTC/USDT"},
				"timeframe": "1h"})
		}
	})
	wg.Wait()
	for fast, list := range answers {
		if len(list) != 2 || list[0].RunID != list[1].RunID || list[0].ResultHash != list[1].ResultHash {
			t.Errorf("fast %s: %+v", fast, list)
		}
		if len(list) == 2 && list[0].Reused == list[1].Reused {
			t.Errorf("fast %s: executed and reused alike: %+v", fast, list)
		}
	}
	listed := ask(t, state, "runs", "list")
	if n := strings.Count(string(listed.Result), `"kind":"run"`); n != 3 {
		t.Errorf("%d runs of the lab are listed, want 3", n)
	}
	if n := strings.Count(string(listed.Result), `"kind":"service"`); n != 5 {
		t.Errorf("%d runs of the service are listed, want 5", n)
	}
	if checked := ask(t, state, "runs", "verify"); !checked.OK {
		t.Errorf("%s: %s", checked.Error.Code, checked.Error.Message)
	}
}
