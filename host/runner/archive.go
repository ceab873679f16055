package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
)

// Archive is the Recorder of the service: files in an artifact.Store, rows in a
// registry.Registry. Executions must be Described.
type Archive struct {
	Store    *artifact.Store
	Registry *registry.Registry
}

// Begin makes the rows.
func (a *Archive) Begin(ctx context.Context, s Started) error {
	run, _, err := a.run(s)
	if err != nil {
		return err
	}
	m, err := artifact.Begun(run)
	if err != nil {
		return err
	}
	return a.Registry.Begin(ctx, m)
}

// run is what is known of a run from its start.
func (a *Archive) run(s Started) (*artifact.Run, Described, error) {
	d, ok := s.Execution.(Described)
	if !ok {
		return nil, nil, fmt.Errorf("%T cannot be kept: it does not say what it runs", s.Execution)
	}
	manifest := d.Manifest()
	manifest.Request.Kind = artifact.KindService
	if s.Request.Mode != ModeBacktest {
		manifest.Request.Mode = s.Request.Mode
	}
	manifest, err := manifest.Complete()
	if err != nil {
		return nil, nil, fmt.Errorf("request: %w", err)
	}
	return &artifact.Run{
		ID: s.RunID, Manifest: manifest, StartedAt: s.StartTime, Service: &artifact.ServiceNote{Mode: s.Request.Mode},
		Origin: artifact.OriginService, Environment: artifact.HostEnvironment(),
	}, d, nil
}

// Measured is an Execution that knows how long it was really at work.
type Measured interface {
	// Served is the stage that the registry of deployables had when the run began, "" where it
	// was not asked, and for how long the run has traded.
	Served() (stage string, covered time.Duration)
}

// Finish writes the files, then completes the rows. When the files cannot be
// written it tries to mark the rows as failed.
func (a *Archive) Finish(ctx context.Context, e Ended) (Kept, error) {
	run, d, err := a.run(e.Started)
	if err != nil {
		return Kept{}, err
	}
	run.Status, run.Failure, run.CompletedAt = e.Status, e.Failure, e.EndTime
	if m, ok := e.Execution.(Measured); ok && e.Request.Mode != ModeBacktest {
		stage, covered := m.Served()
		seconds := max(covered, 0).Seconds()
		run.Service.Stage, run.Service.CoveredSeconds = stage, &seconds
	}
	run.Service.StopReason, run.Service.Partial, run.Service.Message = e.StopReason, e.Partial, e.Message
	run.Splits = []artifact.Split{{
		ID: artifact.FullSplitID, Results: e.Results, Failed: e.Failure != nil,
		WarmupOrdersDropped: e.Results.WarmupRejections(), Decisions: func(w io.Writer) error { return d.WriteDecisions(w) },
		Log: e.Results.LogFile,
	}}
	written, err := a.Store.Write(run)
	if err != nil {
		return Kept{}, errors.Join(err, a.fail(ctx, run, e, err))
	}
	if err := a.Registry.Complete(ctx, written.Metadata, written.Payload); err != nil {
		return Kept{}, fmt.Errorf("registry: %w", err)
	}
	return Kept{
		RequestHash: written.Metadata.RequestHash, ResultHash: written.Report.ResultHash,
		DecisionHash: written.Report.DecisionHash, Artifacts: filepath.ToSlash(filepath.Join("runs", run.ID)),
	}, nil
}

func (a *Archive) fail(ctx context.Context, run *artifact.Run, e Ended, why error) error {
	m, err := artifact.Begun(run)
	if err != nil {
		return err
	}
	return a.Registry.Fail(ctx, m, writeFailure(why, e.Failure))
}
