package request

import (
	"context"
	"errors"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
)

// TrialStore keeps what the trials of a search have come to in the place of their folders.
type TrialStore interface {
	// Keep takes a completed trial. It is on the disk when Keep returns nil.
	Keep(w *artifact.Written) error
	// Report is what it has of a run, nil if that is nothing: metrics and hashes that a search reads.
	Report(runID string) (*artifact.Report, error)
}

// skipsFolder reports whether a run that has come to its end goes into the trial store. One that has left a
// folder has a folder again.
func (a *pendingRun) skipsFolder(status string) bool {
	o := a.options
	return a.host.Trials != nil && o.NoFolder && o.Compact && status == artifact.StatusCompleted &&
		!a.host.Artifacts.Has(a.RunID)
}

// keep stores a run that was played here.
func (a *pendingRun) keep(run *artifact.Run) (*artifact.Written, error) {
	if !a.skipsFolder(run.Status) {
		return a.host.Artifacts.Replace(run)
	}
	w, err := a.host.Artifacts.Rehearse(run)
	if err != nil {
		return nil, err
	}
	return w, a.host.Trials.Keep(w)
}

// receive stores a run that was played elsewhere.
func (a *pendingRun) receive(files map[string][]byte) (*artifact.Written, error) {
	m, err := artifact.DecodeMetadata(files["metadata.json"])
	if err != nil || !a.skipsFolder(m.Status) {
		return a.host.Artifacts.Receive(a.RunID, files)
	}
	w, err := artifact.Unpack(a.RunID, files)
	if err != nil {
		return nil, err
	}
	return w, a.host.Trials.Keep(w)
}

// readKept returns the answer that the trial store and the registry's row have, with the bytes of the row;
// nil if the store has nothing. The error is an *artifact.MismatchError when they are not about one result.
func (p *Prepared) readKept(ctx context.Context, h *Host, runID string) (*Result, []byte, error) {
	if h.Trials == nil {
		return nil, nil, nil
	}
	report, err := h.Trials.Report(runID)
	if report == nil || err != nil {
		return nil, nil, err
	}
	row, err := h.Registry.Get(ctx, runID)
	if err != nil {
		return nil, nil, err
	}
	m, err := artifact.DecodeMetadata(row.Payload)
	if err != nil || m.RequestHash != p.RequestHash || m.ResultHash == nil ||
		*m.ResultHash != report.ResultHash {
		return nil, nil, &artifact.MismatchError{RunID: runID,
			Problems: []string{"what its search keeps of it is not the result of the registry's row"}}
	}
	return &Result{RunID: runID, RequestHash: p.RequestHash, Reused: true, NoFolder: true, Metadata: m,
		Report: report}, row.Payload, nil
}

// Restore plays a run that the trial store has once more, each split in a process of its own, and makes its
// folder. Every file must be what the registry's row lists, else the error is a *MismatchError. A run that
// has a folder stays as it is.
func (p *Prepared) Restore(ctx context.Context, h *Host, o Options) (*Result, error) {
	alone := *h
	alone.Session, alone.Elsewhere = nil, nil
	o.Compact = true
	a := &pendingRun{Prepared: p, host: &alone, options: o, owner: registry.NewOwner()}
	return a.holding(ctx, func(work context.Context, held registry.Claim) (*Result, error) {
		before, payload, err := h.look(work, p, p.RunID, held.Owner != "")
		if err != nil || !before.NoFolder {
			return before, err
		}
		return alone.execute(work, p, o, before.Metadata.Attempt,
			func(run *artifact.Run, results []played) (*artifact.Written, error) {
				if err := h.Registry.Renew(work, a.RequestHash, a.owner); err != nil {
					return nil, err
				}
				err := h.Artifacts.Restore(run, before.Metadata, payload)
				var differs *artifact.ResultError
				if errors.As(err, &differs) {
					return nil, &MismatchError{RunID: run.ID, Before: differs.Before, Now: differs.Now,
						File: differs.File, Capsule: h.capturer().nondeterminism(work, p, results, differs)}
				}
				if err != nil {
					return nil, err
				}
				report, err := artifact.ReadReport(h.Artifacts.Dir(run.ID))
				return &artifact.Written{Report: report, Metadata: before.Metadata, Payload: payload}, err
			})
	})
}
