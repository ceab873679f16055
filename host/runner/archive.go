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
	// Know, if set, notes of which markets the stored candles are, before a backtest shows some.
	Know func(context.Context) error
	// Vouch, if set, is called with a paper or live run that has ended, when its files are in its folder.
	Vouch func(runID string, ended time.Time)
}

// Begin makes the folder with the request, and the rows. A backtest shows its days from here on: those that
// are the test of a run or a plan of the lab are looked at.
func (a *Archive) Begin(ctx context.Context, s Started) error {
	run, _, err := a.run(s)
	if err != nil {
		return err
	}
	m, err := artifact.Begun(run)
	if err != nil {
		return err
	}
	if err := a.Store.Begin(run.ID, &run.Manifest); err != nil {
		return err
	}
	if err := a.Registry.Begin(ctx, m); err != nil {
		return errors.Join(err, a.Store.Withdraw(run.ID))
	}
	if s.Request.Mode != ModeBacktest {
		return nil
	}
	if a.Know != nil {
		if err := a.Know(ctx); err != nil {
			return err
		}
	}
	shown, _ := registry.SplitDays(&run.Manifest.Splits)
	return a.Registry.Look(ctx, registry.Windows{
		ID: run.ID, FamilyID: m.FamilyID, Symbols: m.Symbols, Shown: shown, Data: m.Data,
		Command: registry.LookBacktest, Author: artifact.OriginService,
	})
}

// run returns what is known of a run from its start.
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
		ID: s.RunID, Manifest: manifest, StartedAt: s.StartTime,
		Service: &artifact.ServiceNote{Mode: s.Request.Mode},
		Origin:  artifact.OriginService, Environment: artifact.HostEnvironment(),
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
		WarmupOrdersDropped: e.Results.WarmupRejections(), Decisions: func(w io.Writer) error {
			return d.WriteDecisions(w)
		},
		Log: e.Results.LogFile, Published: e.Results.Published,
	}}
	written, err := a.Store.Write(run)
	if err != nil {
		return Kept{}, errors.Join(err, a.fail(ctx, run, e, err))
	}
	if err := a.Registry.Complete(ctx, written.Metadata, written.Payload); err != nil {
		return Kept{}, fmt.Errorf("registry: %w", err)
	}
	if a.Vouch != nil && e.Request.Mode != ModeBacktest {
		a.Vouch(run.ID, e.EndTime)
	}
	return Kept{
		RequestHash: written.Metadata.RequestHash, ResultHash: written.Report.ResultHash,
		DecisionHash: written.Report.DecisionHash, Artifacts: folderOf(run.ID),
	}, nil
}

// Recover writes the files of a paper or live run that a crash cut short, as those of one
// that failed, from its row, from what its folder has from its start, and from what was
// read back; rep gets the hashes and the place of the folder. A run of which no step was
// read back keeps the folder of its start; the error is fs.ErrNotExist where there is none.
func (a *Archive) Recover(ctx context.Context, rep *Report) error {
	id := rep.Snapshot.RunID
	if len(rep.Results.Equity.Time) == 0 {
		return nil
	}
	row, err := a.Registry.Get(ctx, id)
	if err != nil {
		return err
	}
	m, err := artifact.DecodeMetadata(row.Payload)
	if err != nil {
		return err
	}
	if m.ResultHash == nil {
		if m, err = a.rescue(ctx, m, rep); err != nil {
			return err
		}
	}
	results := *rep.Results
	results.RequestHash, results.ResultHash = m.RequestHash, *m.ResultHash
	results.DecisionHash = *m.DecisionHash
	rep.Results, rep.Artifacts = &results, folderOf(id)
	return nil
}

// rescue does the work of Recover for a run whose row is m.
func (a *Archive) rescue(ctx context.Context, m *artifact.Metadata, rep *Report) (*artifact.Metadata, error) {
	manifest, err := a.Store.Began(m.RunID)
	if err != nil { // perhaps the files are there, and a crash came before the row
		whole, payload, bad := artifact.Verify(a.Store.Dir(m.RunID))
		if bad != nil {
			return nil, err
		}
		return whole, a.Registry.Complete(ctx, whole, payload)
	}
	manifest.Strategy = artifact.Strategy{Name: manifest.Request.StrategyName, Slug: m.Slug}
	manifest.Plugin, manifest.Engine, manifest.Data, manifest.Debug = m.Plugin, m.Engine, m.Data, m.Debug
	s := &rep.Snapshot
	failure := withoutNulls(s.Failure)
	run := &artifact.Run{
		ID: m.RunID, Manifest: *manifest, Status: artifact.StatusFailed, Failure: failure, Attempt: m.Attempt,
		Service: &artifact.ServiceNote{Mode: s.Mode, StopReason: StopError, Partial: true,
			Message: failure.Message},
		Splits: []artifact.Split{{
			ID: artifact.FullSplitID, Results: rep.Results, Failed: true,
			WarmupOrdersDropped: rep.Results.WarmupRejections(),
		}},
		StartedAt: m.Volatile.StartedAt.Time(), CompletedAt: s.EndTime, Origin: m.Volatile.Origin,
		Environment: m.Volatile.Environment,
	}
	written, err := a.Store.Write(run)
	if err != nil {
		return nil, err
	}
	return written.Metadata, a.Registry.Complete(ctx, written.Metadata, written.Payload)
}

// folderOf returns the folder of a run in the state directory.
func folderOf(runID string) string { return filepath.ToSlash(filepath.Join("runs", runID)) }

func (a *Archive) fail(ctx context.Context, run *artifact.Run, e Ended, why error) error {
	m, err := artifact.Begun(run)
	if err != nil {
		return err
	}
	return a.Registry.Fail(ctx, m, writeFailure(why, e.Failure))
}

// Recorder keeps runs beyond their reset.
type Recorder interface {
	// Begin makes the run's row, status running. The run does not start without it.
	Begin(context.Context, Started) error
	// Finish writes the run's files and then completes its row. The end of the run is
	// not shown before it returns.
	Finish(context.Context, Ended) (Kept, error)
}

// TrialCounter finds which trial a run was among all that were tried on its days.
type TrialCounter interface {
	// Place is nil for a run that is no trial.
	Place(ctx context.Context, runID string) (*registry.Place, error)
}

// Started is a run that has been launched.
type Started struct {
	RunID     string
	Request   StartRequest
	StartTime time.Time
	Execution Execution
}

// Ended is a run that has come to its end.
type Ended struct {
	Started
	// Status is completed or failed.
	Status     string
	StopReason string
	Partial    bool
	Message    string
	Failure    *artifact.Failure // set when failed
	EndTime    time.Time
	Results    *artifact.Results
}

// Kept is what a Recorder made of a run.
type Kept struct {
	RequestHash, ResultHash, DecisionHash string
	// Artifacts is the folder in the state directory, for example runs/svc_01jd....
	Artifacts string
}

// Described is an Execution that knows exactly what it runs and hands out its
// decision lines: Archive needs it.
type Described interface {
	// Manifest is fixed when the launch has succeeded.
	Manifest() artifact.Manifest
	// WriteDecisions writes the decision lines of the run so far, each ended by a newline.
	WriteDecisions(io.Writer) error
}
