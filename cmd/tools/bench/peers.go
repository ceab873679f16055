package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/assay-run/assay/host/hosttest"
)

// peers are the backtesters that cmd/tools/bench/peers/peers.py drives.
var peers = []string{"backtesting", "vectorbt", "nautilus"}

// played is what a peer says of one run of the rule; seconds are of its loop, without the time that
// reading the candles takes.
type played struct {
	Candles, Trades int
	Seconds         float64
	Note            string
}

// measurePeers plays the rule of R on the same candles here and in other backtesters, one after the
// other. Their packages come from PyPI by the lock file beside the script.
func measurePeers(size, strategies string, folder string) error {
	interpreter, err := hosttest.Environment(filepath.Join(folder, "requirements.txt"))
	if err != nil {
		return err
	}
	own, err := inChild(size, strategies)
	if err != nil {
		return err
	}
	if err := own.check(); err != nil {
		return err
	}
	fmt.Printf("\nR in other backtesters, %d candles\n", own.Candles)
	row := func(name string, candles int, seconds float64, trades int, note string) {
		rate := float64(candles) / seconds
		fmt.Printf("  %-36s %10.1f k/s %8.3f of co-simulation, %d trades  %s\n", name, rate/1e3,
			rate*own.CoSimulation/float64(own.Candles), trades, note)
	}
	row("assay: co-simulation, plugin process", own.Candles, own.CoSimulation, own.Trades, "")
	row("assay: lockstep, plugin process", own.LockstepSteps, own.Lockstep, own.Trades, "")
	if err := printPython(&own, row); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "assay-bench-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "candles.csv")
	if err := writeCSV(path, reference(own.Candles), own.Candles); err != nil {
		return err
	}
	for _, name := range peers {
		cmd := exec.Command(interpreter, filepath.Join(folder, "peers.py"), name, path)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", name, err, said.Bytes())
		}
		for line := range bytes.Lines(out) {
			var p played
			if err := json.Unmarshal(line, &p); err != nil || p.Candles != own.Candles || p.Seconds <= 0 {
				return errors.Join(fmt.Errorf("%s says %s", name, line), err)
			}
			row(name, p.Candles, p.Seconds, p.Trades, p.Note)
		}
	}
	return nil
}
