package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	falsifyProgram = "sma_cross"
	falsifyJSON    = `{"schema":"lab/v1","slug":"sma_cross","exchange":"sample",` +
		`"symbols":["BTC/USDT"],"timeframe":"1h","plugin":{"path":%q}}`
)

// measureFalsify times lab falsify on the split search of the bundled candles, with the
// run that it attacks made before; then the part of lockstep_replay, and --full.
func measureFalsify(lab, strategies string) error {
	fmt.Printf("\nlab falsify, %s on search (46,735 candles of %s)\n", falsifyProgram, familyWindow)
	dir, err := os.MkdirTemp("", "assay-bench-falsify-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := filepath.Abs(filepath.Join(strategies, falsifyProgram))
	if err != nil {
		return err
	}
	relative, err := filepath.Rel(dir, program)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "lab.json"), fmt.Appendf(nil, falsifyJSON, relative),
		0o644); err != nil {
		return err
	}
	call := func(args ...string) (float64, error) {
		cmd := exec.Command(lab,
			append(args, "--state-dir", filepath.Join(dir, "state"), "--quiet", "--json")...)
		began := time.Now()
		out, err := cmd.Output()
		var ended *exec.ExitError
		if errors.As(err, &ended) && args[0] == "falsify" &&
			(ended.ExitCode() == 1 || ended.ExitCode() == 3) {
			err = nil // a verdict, and no matter of speed
		}
		if err != nil {
			err = fmt.Errorf("lab %v: %w: %s", args, err, out)
		}
		return time.Since(began).Seconds(), err
	}
	if _, err := call("run", falsifyProgram, "--dir", dir); err != nil {
		return err
	}
	header()
	row := func(name string, g goal, per float64, args ...string) error {
		seconds, err := call(append([]string{"falsify", falsifyProgram}, args...)...)
		if err != nil {
			return err
		}
		g.row(name, seconds/per, "")
		return nil
	}
	if err := row("all tests", falsifyGoal, 1); err != nil {
		return err
	}
	if err := row("lockstep_replay alone", replayGoal, 1, "--only", "lockstep_replay"); err != nil {
		return err
	}
	return row("--full without permuted_selection", falsifyFullGoal, 60, "--full", "--skip",
		"permuted_selection")
}
