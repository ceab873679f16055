package runner

import (
	"context"
	"io"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
)

// Recorder keeps runs beyond their reset.
type Recorder interface {
	// Begin makes the run's row, status running. The run does not start without it.
	Begin(context.Context, Started) error
	// Finish writes the run's files and then completes its row. The end of the run is
	// not shown before it returns.
	Finish(context.Context, Ended) (Kept, error)
}

// TrialCounter tells which trial a run was among all that were tried on its days.
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

// Kept says what a Recorder made of a run.
type Kept struct {
	RequestHash, ResultHash, DecisionHash string
	// Artifacts is the folder in the state directory, for example runs/svc_01jd....
	Artifacts string
}

// Described is an Execution that says what exactly it runs and hands out its
// decision lines: Archive needs it.
type Described interface {
	// Manifest is fixed when the launch has succeeded.
	Manifest() artifact.Manifest
	// WriteDecisions writes the decision lines of the run so far, each ended by a newline.
	WriteDecisions(io.Writer) error
}
