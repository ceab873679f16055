package family

import (
	"context"
	"errors"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/search/selection"
)

// Folders says which trials of a search have a folder of their own.
type Folders string

const (
	// FoldersAll gives each trial one.
	FoldersAll Folders = "all"
	// FoldersSelected gives the selected trial one, and those that have failed. The others are in
	// trials.columns; their folders are made again where they are asked for.
	FoldersSelected Folders = "selected"
)

// manyTrials is the number of trials above which a search keeps the folder of the selected one only, unless
// it is told otherwise: the most that lab.json plans by itself.
const manyTrials = 64

// skipsFolders reports whether trials are kept without folders.
func (s *Search) skipsFolders(o Options) bool {
	if o.Folders == "" {
		return len(s.Plan.Trials) > manyTrials
	}
	return o.Folders == FoldersSelected
}

// mostReturns is how many trials returns.csv has at most where trials have no folders: what it would have of
// more is in trials.columns, a third as large.
const mostReturns = 1000

// trialStore is trials.columns as the trial store of a host.
type trialStore struct {
	file      *selection.KeptFile
	objective string
}

// Keep adds a trial.
func (s trialStore) Keep(w *artifact.Written) error {
	k, err := selection.KeptOf(w, s.objective)
	if err != nil {
		return err
	}
	return s.file.Add(k)
}

// Report is what a trial has come to.
func (s trialStore) Report(runID string) (*artifact.Report, error) {
	k, err := s.file.Find(runID)
	if k == nil || err != nil {
		return nil, err
	}
	return k.Report(), nil
}

// readReport reads back what a trial has come to.
func (s *Search) readReport(runID string) (*artifact.Report, error) {
	if s.host.Artifacts.Has(runID) {
		return artifact.ReadReport(s.host.Artifacts.Dir(runID))
	}
	k, err := s.kept.Find(runID)
	if err != nil {
		return nil, err
	}
	if k == nil {
		return nil, &artifact.MismatchError{RunID: runID,
			Problems: []string{"it has neither a folder nor a row in " + selection.KeptName}}
	}
	return k.Report(), nil
}

// restoreSelected gives the selected trial its folder. One that comes to something else now, which is no
// state that another play has left, makes the numbers of the family unrepeatable.
func (s *Search) restoreSelected(ctx context.Context, out *Outcome) error {
	if out.Result.Selected == nil || s.host.Artifacts.Has(out.Result.Selected.RunID) {
		return nil
	}
	p, err := s.prepareTrial(out.Result.Selected.TrialIndex, s.Windows)
	if err != nil {
		return err
	}
	_, err = p.Restore(ctx, s.host, request.Options{})
	var differs *request.MismatchError
	if errors.As(err, &differs) {
		out.Warnings = append(out.Warnings, artifact.ReportWarning{Code: request.CodeNondeterminism,
			Message: "the selected trial has another result when it is played again: " + differs.Error()})
		return nil
	}
	return err
}
