package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/assay-run/assay/host/hosttest"
)

// peers are the backtesters that cmd/tools/bench/peers/peers.py drives.
var peers = []string{"backtesting", "vectorbt", "nautilus"}

// played is what a peer says of one run of the rule; seconds are of its loop, start from the start of its
// process to it, which has the time that reading the candles takes.
type played struct {
	Candles, Trades int
	Seconds, Start  float64
	Note            string
}

// peerRow is one way to play R. The memory is the peak of anonymous memory of the process that has the
// strategy, in MiB; start is how long it took from the request, or from the start of the process, to the
// loop.
type peerRow struct {
	name    string
	candles int
	seconds float64
	trades  int
	start   float64
	memory  float64
	note    string
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
	fmt.Printf("  %-36s %14s %17s %8s %10s %9s\n", "", "candles", "co-simulation = 1", "trades", "memory",
		"start")
	row := func(r peerRow) {
		rate := float64(r.candles) / r.seconds
		fmt.Printf("  %-36s %10.1f k/s %17.3f %8d %6.1f MiB %7.3f s  %s\n", r.name, rate/1e3,
			rate*own.CoSimulation/float64(own.Candles), r.trades, r.memory, r.start, r.note)
	}
	row(peerRow{"assay: Go, co-simulation", own.Candles, own.CoSimulation, own.Trades, own.FirstCandle,
		own.PluginMiB, ""})
	row(peerRow{"assay: Go, lockstep", own.LockstepSteps, own.Stepped.Seconds, own.Stepped.Trades,
		own.Stepped.Start, own.Stepped.MiB, ""})
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
		var stderr, out bytes.Buffer
		cmd.Stderr, cmd.Stdout = &stderr, &out
		cmd.Env = append(os.Environ(), fmt.Sprintf("ASSAY_BEGIN=%d", time.Now().UnixNano()))
		if err := cmd.Start(); err != nil {
			return err
		}
		watch := watchProcesses(cmd.Process.Pid)
		err := cmd.Wait()
		memory := watch().pluginMiB
		if err != nil {
			return fmt.Errorf("%s: %w: %s", name, err, stderr.Bytes())
		}
		for line := range bytes.Lines(out.Bytes()) {
			var p played
			if err := json.Unmarshal(line, &p); err != nil || p.Candles != own.Candles || p.Seconds <= 0 {
				return errors.Join(fmt.Errorf("%s says %s", name, line), err)
			}
			row(peerRow{name, p.Candles, p.Seconds, p.Trades, p.Start, memory, p.Note})
		}
	}
	return nil
}
