package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/catalog/sandbox"
	"github.com/assay-run/assay/host/digest"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/evaluate"
)

// Build says what this program is; cmd/lab sets it.
type Build struct{ Version, Commit string }

// withHost opens everything that evaluations need, and closes it after use.
func (a *app) withHost(ctx context.Context, use func(*evaluate.Host) error) (err error) {
	stateDir, err := filepath.Abs(a.stateDir)
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
	runs, err := registry.Open(ctx, store, a.logger.Named("registry"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runs.Close()) }()
	return use(&evaluate.Host{
		StateDir: stateDir, Candles: candles, Artifacts: store, Registry: runs, Engine: engine,
		Sandbox: sandbox.Mode(a.sandbox), StepLimit: a.pluginTimeout, Logger: a.logger,
	})
}

// engine is this program as requests name it.
func (a *app) engine() (artifact.Engine, error) {
	self, err := os.Executable()
	if err != nil {
		return artifact.Engine{}, err
	}
	sum, err := digest.File(self)
	return artifact.Engine{Name: "lab", Version: a.io.Build.Version, Commit: a.io.Build.Commit, SHA256: sum}, err
}

// runsDir is the folder of all runs.
func (a *app) runsDir() string { return filepath.Join(a.stateDir, "runs") }
