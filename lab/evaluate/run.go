package evaluate

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/result"
	"github.com/assay-run/assay/lab/capsule"
	"github.com/assay-run/assay/lab/split"
)

// Options of one execution.
type Options struct {
	// Force executes again what is answered and compares the result.
	Force bool
	// NoReuse executes and stores nothing.
	NoReuse  bool
	Progress Progress
	// Compact keeps little of each split, as of a trial.
	Compact bool
	// Plan is the standing of the run in its family.
	Plan Plan
	// Waiting hears that another process is answering the same question.
	Waiting func(owner string)
}

// Plan is what a run is in a family; the zero value for a run of its own.
type Plan struct {
	// ID is the plan's, "" for none; Index is that of the trial, -1 for a run that is none.
	ID    string
	Index int64
	// Deviation says that the plan's rule did not select these parameters, Contaminated
	// that they were chosen on data that the validation split is part of.
	Deviation, Contaminated bool
}

// note puts the standing into a run.
func (p Plan) note(e *artifact.Evaluation) {
	if p.ID == "" {
		return
	}
	e.PlanID, e.Deviation, e.Contaminated = &p.ID, p.Deviation, p.Contaminated
	if p.Index >= 0 {
		e.TrialIndex = &p.Index
	}
}

// Answer is a run as it is stored now.
type Answer struct {
	RunID, RequestHash string
	// Reused says that nothing was executed.
	Reused   bool
	Metadata *artifact.Metadata
	Report   *artifact.Report
	// Failure is why the plugin did not come to the end of a split.
	Failure *Failure
}

// Failure is the first split that failed.
type Failure struct {
	SplitID string
	*result.Failure
	// Capsule is nil where none was kept.
	Capsule *capsule.Note
}

// MismatchError says that executing a request again has given another result.
type MismatchError struct {
	RunID, Before, Now string
	// File is the first file that differs, empty when the result hash does.
	File string
	// Capsule is nil where none was kept.
	Capsule *capsule.Note
}

// Error names both results.
func (e *MismatchError) Error() string {
	what := "result"
	if e.File != "" {
		what = e.File
	}
	return fmt.Sprintf("run %s is not deterministic: %s %.12s before, %.12s now", e.RunID, what, e.Before, e.Now)
}

// poll is how often somebody who waits looks whether the other one is done.
const poll = 250 * time.Millisecond

// Run answers a prepared question: with the run that is there, or by executing it.
func (h *Host) Run(ctx context.Context, p *Prepared, o Options) (*Answer, error) {
	if o.NoReuse {
		return h.execute(ctx, p, o, 1, nil)
	}
	began := time.Now()
	key, err := p.Manifest.Request.TrialKey()
	if err != nil {
		return nil, err
	}
	if p.postPeek, err = h.Registry.PostPeek(ctx, p.Manifest.Request.FamilyID, key); err != nil {
		return nil, err
	}
	standing := &artifact.Evaluation{PostPeek: p.postPeek}
	o.Plan.note(standing)
	begun, err := artifact.Begun(&artifact.Run{
		ID: p.RunID, Manifest: p.Manifest, StartedAt: began, Origin: artifact.OriginLab, Environment: artifact.HostEnvironment(),
		Evaluation: standing, Compact: o.Compact,
	})
	if err != nil {
		return nil, err
	}
	owner := ownerName()
	claim, err := h.claim(ctx, begun, owner, o)
	switch {
	case err != nil:
		return nil, err
	case claim.Standing == registry.Answered && !o.Force:
		answer, err := h.stored(ctx, p, claim.RunID)
		var changed *artifact.MismatchError
		if !errors.As(err, &changed) {
			return answer, err
		}
		h.Logger.Warn("the run's files are not what they were: it is executed again", "run_id", claim.RunID, "problems", changed.Problems)
		if err := h.discard(ctx, claim.RunID); err != nil {
			return nil, err
		}
		h.changed(p, claim.RunID, changed)
		return h.Run(ctx, p, o)
	case claim.Standing == registry.Answered:
		return h.audit(ctx, p, o, claim)
	}
	return h.hold(ctx, p, o, begun, owner, claim.Attempt)
}

func ownerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var unique [4]byte
	_, _ = rand.Read(unique[:]) // never fails
	return fmt.Sprintf("%s:%d:%s", host, os.Getpid(), hex.EncodeToString(unique[:]))
}

// claim asks for the right to execute until it has it or the answer is there.
func (h *Host) claim(ctx context.Context, m *artifact.Metadata, owner string, o Options) (registry.Claim, error) {
	told := false
	for {
		c, err := h.Registry.Claim(ctx, m, owner)
		var taken *registry.CollisionError
		if errors.As(err, &taken) {
			return c, &Error{Code: "RUN_ID_COLLISION", Message: err.Error(), Cause: err}
		}
		if err != nil || c.Standing != registry.Busy {
			return c, err
		}
		if !told && o.Waiting != nil {
			told = true
			o.Waiting(c.Owner)
		}
		select {
		case <-ctx.Done():
			return c, context.Cause(ctx)
		case <-time.After(poll):
		}
	}
}

// stored is the run that answers, every file hashed again.
func (h *Host) stored(_ context.Context, p *Prepared, runID string) (*Answer, error) {
	m, _, err := artifact.Verify(h.Artifacts.Dir(runID))
	if errors.Is(err, fs.ErrNotExist) {
		// The row says that the run is complete: its folder or metadata.json is gone.
		return nil, &artifact.MismatchError{RunID: runID, Problems: []string{"metadata.json is missing"}}
	}
	if err != nil {
		return nil, err
	}
	report, err := artifact.ReadReport(h.Artifacts.Dir(runID))
	if err != nil {
		return nil, err
	}
	return &Answer{RunID: runID, RequestHash: p.RequestHash, Reused: true, Metadata: m, Report: report}, nil
}

// discard moves the files of a run out of the way and lets it be executed again.
func (h *Host) discard(ctx context.Context, runID string) error {
	if err := h.Artifacts.Discard(runID); err != nil {
		return err
	}
	return h.Registry.Reopen(ctx, runID)
}

// hold executes under the lease, which is renewed meanwhile.
func (h *Host) hold(ctx context.Context, p *Prepared, o Options, begun *artifact.Metadata, owner string, attempt int) (_ *Answer, err error) {
	work, cancel := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		h.renew(work, cancel, p.RequestHash, owner)
	}()
	defer func() {
		cancel(nil)
		<-renewed
		if err != nil {
			settle, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer done()
			err = errors.Join(err, h.Registry.Abandon(settle, begun, owner))
		}
	}()
	return h.execute(work, p, o, attempt, func(run *artifact.Run, _ []played) (*artifact.Written, error) {
		if err := h.Registry.Renew(work, p.RequestHash, owner); err != nil {
			return nil, err
		}
		written, err := h.Artifacts.Replace(run)
		if err != nil {
			return nil, err
		}
		// From here on the run is there, whatever happens: the next open adopts it.
		return written, h.Registry.Complete(context.WithoutCancel(work), written.Metadata, written.Payload)
	})
}

func (h *Host) renew(ctx context.Context, cancel context.CancelCauseFunc, hash, owner string) {
	ticker := time.NewTicker(registry.LeaseRenew)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := h.Registry.Renew(ctx, hash, owner); errors.Is(err, registry.ErrLeaseLost) {
				cancel(err)
				return
			}
		}
	}
}

// audit executes an answered request again: the result must be the same. Then only
// the times are new.
func (h *Host) audit(ctx context.Context, p *Prepared, o Options, claim registry.Claim) (*Answer, error) {
	before, err := h.stored(ctx, p, claim.RunID)
	var changed *artifact.MismatchError
	if errors.As(err, &changed) {
		h.changed(p, claim.RunID, changed)
	}
	if err != nil {
		return nil, err
	}
	return h.execute(ctx, p, o, claim.Attempt, func(run *artifact.Run, results []played) (*artifact.Written, error) {
		written, err := h.Artifacts.Renew(run, before.Metadata)
		var differs *artifact.ResultError
		if errors.As(err, &differs) {
			return nil, &MismatchError{
				RunID: run.ID, Before: differs.Before, Now: differs.Now, File: differs.File, Capsule: h.nondeterminism(ctx, p, results, differs),
			}
		}
		if err != nil {
			return nil, err
		}
		return written, h.Registry.Complete(context.WithoutCancel(ctx), written.Metadata, written.Payload)
	})
}

// storing keeps a run that has been played.
type storing func(*artifact.Run, []played) (*artifact.Written, error)

// execute plays every split, up to the first that fails, and hands the run to store;
// nil stores nothing.
func (h *Host) execute(ctx context.Context, p *Prepared, o Options, attempt int, store storing) (*Answer, error) {
	began := time.Now()
	jobs := p.jobs()
	results, err := h.playToFailure(ctx, p, jobs, o.Progress)
	var stopped *interruption
	if errors.As(err, &stopped) && errors.Is(err, context.Canceled) && store != nil {
		h.stopped(p, stopped.at)
	}
	if err != nil {
		return nil, err
	}
	defer closeAll(results)
	run := &artifact.Run{
		ID: p.RunID, Manifest: p.Manifest, Status: artifact.StatusCompleted, Attempt: attempt, StartedAt: began, CompletedAt: time.Now(),
		Origin: artifact.OriginLab, Environment: artifact.HostEnvironment(), Compact: o.Compact,
	}
	answer := &Answer{RunID: p.RunID, RequestHash: p.RequestHash}
	for i := range results {
		if r := &results[i]; r.failure != nil && answer.Failure == nil {
			answer.Failure = &Failure{SplitID: r.job.id, Failure: r.failure}
			if store != nil {
				answer.Failure.Capsule = h.capture(ctx, p, r)
			}
			run.Status, run.Failure = artifact.StatusFailed, r.failure
		}
		if results[i].job.keep && results[i].results != nil {
			run.Splits = append(run.Splits, results[i].split(results[i].job.id == split.RoleTest))
		}
	}
	if run.Evaluation, err = h.assess(p, results, answer.Failure == nil); err != nil {
		return nil, err
	}
	o.Plan.note(run.Evaluation)
	if answer.Failure != nil && answer.Failure.Capsule != nil {
		run.Evaluation.FailureCapsule = answer.Failure.Capsule
	}
	if store == nil {
		store = func(run *artifact.Run, _ []played) (*artifact.Written, error) { return h.Artifacts.Rehearse(run) }
	}
	written, err := store(run, results)
	if err != nil {
		return nil, err
	}
	answer.Metadata, answer.Report = written.Metadata, written.Report
	return answer, nil
}

// jobs are the splits in the order of reports, then the repetitions under stress.
func (p *Prepared) jobs() []job {
	var jobs []job
	var search job
	for _, r := range p.Manifest.Splits.Splits {
		if r.Train != nil && r.Role == split.RoleTrain && p.Question.Kind != artifact.KindTrial {
			continue // train windows are for trials
		}
		jobs = append(jobs, job{id: r.ID, from: r.From, to: r.To, keep: true})
		if r.Role == split.RoleSearch {
			search = jobs[len(jobs)-1]
		}
	}
	if search.id == "" {
		return jobs
	}
	for _, id := range p.Question.Stress {
		jobs = append(jobs, job{id: search.id, from: search.from, to: search.to, stress: stresses[id], stressID: id})
	}
	return jobs
}
