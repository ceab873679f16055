package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/evaluate"
)

// Build says what this program is; cmd/lab sets it.
type Build struct{ Version, Commit string }

// WithHost opens everything that evaluations need, and closes it after use.
func (a *App) WithHost(ctx context.Context, use func(*evaluate.Host) error) (err error) {
	stateDir, err := filepath.Abs(a.StateDir)
	if err != nil {
		return err
	}
	engine, err := a.engine()
	if err != nil {
		return err
	}
	candles, err := candle.Open(ctx, stateDir)
	if err != nil {
		return fmt.Errorf("candle store: %w", err)
	}
	defer func() { err = errors.Join(err, candles.Close()) }()
	store := artifact.NewStore(filepath.Join(stateDir, "runs"))
	runs, err := registry.Open(ctx, store, a.Logger.Named("registry"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runs.Close()) }()
	for _, w := range runs.Warnings() {
		a.Note(Warning(w))
	}
	return use(&evaluate.Host{
		StateDir: stateDir, Candles: candles, Artifacts: store, Registry: runs, Engine: engine,
		Sandbox: sandbox.Mode(a.Sandbox), StepLimit: a.PluginTimeout, Logger: a.Logger,
		Reattach: a.IO.Getenv(catalog.ReattachEnv),
	})
}

// engine is this program as requests name it.
func (a *App) engine() (artifact.Engine, error) {
	self, err := os.Executable()
	if err != nil {
		return artifact.Engine{}, err
	}
	sum, err := digest.File(self)
	return artifact.Engine{Name: "lab", Version: a.IO.Build.Version, Commit: a.IO.Build.Commit, SHA256: sum}, err
}

// How a command that plays very many small runs collects garbage, and up to how many
// candles of all its workers together: several times what they keep is then little.
const (
	lazyPercent = 400
	lazyCandles = 1_000_000
)

// Employ gives a command that plays many runs over so many candles as many processors as
// it has workers, 0 being all of them, and lets garbage grow where what is kept is small.
// So a single worker leaves the other processors alone, for which a plugin, too, has but
// one. GOMAXPROCS, GOGC and GOMEMLIMIT win. The function that it returns undoes it.
func (a *App) Employ(workers, candles int) (undo func()) {
	procs, percent := 0, -1
	if workers > 0 && workers < runtime.GOMAXPROCS(0) && a.IO.Getenv("GOMAXPROCS") == "" {
		procs = runtime.GOMAXPROCS(workers)
	}
	busy := workers
	if busy == 0 {
		busy = runtime.NumCPU()
	}
	if candles <= lazyCandles/busy && a.IO.Getenv("GOGC") == "" && a.IO.Getenv("GOMEMLIMIT") == "" {
		percent = debug.SetGCPercent(lazyPercent)
	}
	return func() {
		if procs > 0 {
			runtime.GOMAXPROCS(procs)
		}
		if percent >= 0 {
			debug.SetGCPercent(percent)
		}
	}
}

// RunsDir is the folder of all runs.
func (a *App) RunsDir() string { return filepath.Join(a.StateDir, "runs") }
