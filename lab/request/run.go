package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/holdout"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/run"
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
	// NoFolder keeps a completed compact run in the trial store of the host in the place of its folder.
	NoFolder bool
	// Plan is the standing of the run in its family.
	Plan Plan
	// Make fills a run where its splits are not simply played, as for a falsification:
	// Splits, Evaluation and Manifest.Sandbox. The rest of the run is there already.
	Make func(ctx context.Context, run *artifact.Run) error
	// Waiting is called where another process is answering the same request.
	Waiting func(owner string)
	// Author is who asks, for what is noted about people.
	Author string

	renewal time.Duration // of the lease, for tests; registry.LeaseRenew if 0
}

// Plan is what a run is in a family; the zero value for a run of its own.
type Plan struct {
	// ID is the plan's, "" for none; Index is that of the trial, -1 for a run that is none.
	ID    string
	Index int64
	// Deviation reports that the plan's rule did not select these parameters, Contaminated
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

// Result is a run as it is stored now.
type Result struct {
	RunID, RequestHash string
	// Reused reports that nothing was executed, NoFolder that the run has no folder: its report is what the
	// trial store has of it.
	Reused, NoFolder bool
	Metadata         *artifact.Metadata
	Report           *artifact.Report
	// JSON are the files of artifact.Written.JSON of a run that was executed and not stored.
	JSON map[string][]byte
	// Failure is why the plugin did not come to the end of a split.
	Failure *Failure
	// Withheld reports that the metrics were taken out: nothing was stored, and no one may
	// choose by numbers of parameters that are not counted.
	Withheld bool
}

// Failure is the first split that failed.
type Failure struct {
	SplitID string
	*artifact.Failure
	// Capsule is nil where none was kept.
	Capsule *capsule.Note
}

// MismatchError reports that executing a request again has given another result.
type MismatchError struct {
	RunID, Before, Now string
	// File is the first file that differs, empty when the result hash does.
	File string
	// Capsule is nil where none was kept.
	Capsule *capsule.Note
}

func (e *MismatchError) Error() string {
	what := "result"
	if e.File != "" {
		what = e.File
	}
	return fmt.Sprintf("run %s is not deterministic: %s %.12s before, %.12s now", e.RunID, what, e.Before,
		e.Now)
}

// poll is how often a waiting process looks whether the other one is done.
const poll = 250 * time.Millisecond

// Run answers a prepared request: with the run that is there, or by executing it.
func (h *Host) Run(ctx context.Context, p *Prepared, o Options) (*Result, error) {
	key, err := p.Manifest.Request.TrialKey()
	if err != nil {
		return nil, err
	}
	if o.NoReuse {
		return h.rehearse(ctx, p, o, key)
	}
	began := time.Now()
	if o.Plan.ID == "" && p.Request.Kind == artifact.KindRun {
		if o.Plan, err = h.standing(ctx, p, key); err != nil {
			return nil, err
		}
	}
	if p.Request.Kind == artifact.KindRun {
		if err := noteDays(ctx, h, p, o.Author); err != nil {
			return nil, err
		}
	}
	if p.postPeek,
		err = h.Registry.PostPeek(ctx, p.Manifest.Request.FamilyID, key, p.RunID, o.Plan.ID); err != nil {
		return nil, err
	}
	standing := &artifact.Evaluation{PostPeek: p.postPeek}
	o.Plan.note(standing)
	begun, err := artifact.Begun(&artifact.Run{
		ID: p.RunID, Manifest: p.Manifest, StartedAt: began, Origin: artifact.OriginLab,
		Environment: artifact.HostEnvironment(),
		Evaluation:  standing, Compact: o.Compact,
	})
	if err != nil {
		return nil, err
	}
	a := &pendingRun{Prepared: p, host: h, options: o, begun: begun, owner: registry.NewOwner()}
	for {
		answer, err := a.attempt(ctx)
		switch {
		case errors.Is(err, errReopened):
		case errors.Is(err, registry.ErrLeaseLost) && ctx.Err() == nil:
			h.Logger.Warn("another process has taken the run over: its answer is used", "run_id", p.RunID)
			a.options.Force, a.expected = false, ""
		default:
			return answer, err
		}
	}
}

// Days is w with the days that a request shows and those of its test; the splits of a
// trial do not have one, those of its search do.
func (p *Prepared) Days(w registry.Windows) (registry.Windows, error) {
	m := &p.Manifest
	w.FamilyID, w.Symbols, w.Data = m.Request.FamilyID, m.Request.Symbols, m.Data
	whole, err := p.split()
	if err != nil {
		return w, err
	}
	_, w.Locked = registry.SplitDays(&whole)
	w.Shown, _ = registry.SplitDays(&m.Splits)
	return w, nil
}

// noteDays notes the days of a run.
func noteDays(ctx context.Context, h *Host, p *Prepared, author string) error {
	w, err := p.Days(registry.Windows{ID: p.RunID, Command: registry.LookRun, Author: author})
	if err != nil {
		return err
	}
	return h.Look(ctx, w)
}

// Look notes which days are shown and which are locked, before anything is: registry.Look in
// which the markets of all candles are known.
func (h *Host) Look(ctx context.Context, w registry.Windows) error {
	if err := (holdout.Ledger{Candles: h.Candles, Registry: h.Registry}).Know(ctx); err != nil {
		return err
	}
	return h.Registry.Look(ctx, w)
}

// pendingRun is a prepared request on its way to an answer.
type pendingRun struct {
	*Prepared
	host    *Host
	options Options
	begun   *artifact.Metadata
	owner   string
	// expected is the result that a forced run had whose files have changed since.
	expected string
}

// errReopened reports that there is no answer any more, so that the request is to be
// claimed again.
var errReopened = errors.New("the run is to be executed again")

// attempt claims the request once. The error is registry.ErrLeaseLost or errReopened
// where another process may have the answer now.
func (a *pendingRun) attempt(ctx context.Context) (*Result, error) {
	claim, err := a.host.wait(ctx, a.options, func() (registry.Claim, error) {
		return a.host.Registry.Claim(ctx, a.begun, a.owner)
	})
	var taken *registry.CollisionError
	switch {
	case errors.As(err, &taken):
		return nil, Errorf(CodeRunIDCollision, "%w", err)
	case err != nil:
		return nil, err
	case claim.Standing == registry.Execute:
		answer, err := a.hold(ctx, claim.Attempt)
		if err == nil && a.expected != "" && answer.Report.ResultHash != a.expected {
			differs := &artifact.ResultError{Before: a.expected, Now: answer.Report.ResultHash}
			note := a.host.capturer().otherResult(a.Prepared, nil,
				answer.Metadata.Volatile.Environment.Sandbox, differs)
			return nil, &MismatchError{RunID: a.RunID, Before: differs.Before, Now: differs.Now,
				Capsule: note}
		}
		return answer, err
	case a.options.Force:
		return a.review(ctx, claim.RunID)
	}
	answer, err := a.host.stored(ctx, a.Prepared, claim.RunID)
	var changed *artifact.MismatchError
	if errors.As(err, &changed) {
		return a.review(ctx, claim.RunID)
	}
	return answer, err
}

// wait claims until no other process is busy with the request.
func (h *Host) wait(ctx context.Context, o Options,
	claim func() (registry.Claim, error)) (registry.Claim, error) {
	told := false
	for {
		c, err := claim()
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

// stored is the run that answers, every file hashed again. The error is an
// *artifact.MismatchError when it is not the one of the registry's row.
func (h *Host) stored(ctx context.Context, p *Prepared, runID string) (*Result, error) {
	request, err := h.Registry.GetRequest(ctx, p.RequestHash)
	if err != nil {
		return nil, err
	}
	answer, _, err := h.look(ctx, p, runID, request.Owner != "")
	return answer, err
}

// look is stored for a run whose lease a process has or had, or has not. Besides, it
// returns the bytes of metadata.json.
func (h *Host) look(ctx context.Context, p *Prepared, runID string, held bool) (*Result, []byte, error) {
	m, payload, err := artifact.Verify(h.Artifacts.Dir(runID))
	if errors.Is(err, fs.ErrNotExist) {
		if answer, payload, err := p.readKept(ctx, h, runID); answer != nil || err != nil {
			return answer, payload, err
		}
		// By the row the run is complete: its folder or metadata.json is gone.
		return nil, nil, &artifact.MismatchError{RunID: runID, Problems: []string{"metadata.json is missing"}}
	}
	if err != nil {
		return nil, nil, err
	}
	if err := h.agree(ctx, p, runID, m, payload, held); err != nil {
		return nil, nil, err
	}
	report, err := artifact.ReadReport(h.Artifacts.Dir(runID))
	if err != nil {
		return nil, nil, err
	}
	return &Result{RunID: runID, RequestHash: p.RequestHash, Reused: true, Metadata: m, Report: report},
		payload, nil
}

// hold executes under the lease.
func (a *pendingRun) hold(ctx context.Context, attempt int) (answer *Result, err error) {
	err = a.leased(ctx, func(work context.Context) error {
		// Before anything is added to them.
		if err := a.host.Artifacts.Rescue(a.RunID); err != nil {
			return err
		}
		if a.host.Elsewhere != nil {
			answer, err = a.fetch(work, attempt)
			return err
		}
		answer, err = a.host.execute(work, a.Prepared, a.options, attempt,
			func(run *artifact.Run, _ []played) (*artifact.Written, error) {
				if err := a.host.Registry.Renew(work, a.RequestHash, a.owner); err != nil {
					return nil, err
				}
				written, err := a.keep(run)
				if err != nil {
					return nil, err
				}
				// From here on the run is there, whatever happens: the next open adopts it.
				return written,
					a.host.Registry.Complete(context.WithoutCancel(work), written.Metadata, written.Payload)
			})
		return err
	})
	if err == nil {
		return answer, nil
	}
	settle, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	return nil, errors.Join(err, a.host.Registry.Abandon(settle, a.begun, a.owner))
}

// leased works while the lease is renewed. The error is registry.ErrLeaseLost, too, when
// that is what has ended the work.
func (a *pendingRun) leased(ctx context.Context, do func(context.Context) error) error {
	work, cancel := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		a.renew(work, cancel)
	}()
	err := do(work)
	if err != nil && leaseLost(work) {
		err = errors.Join(registry.ErrLeaseLost, err)
	}
	cancel(nil)
	<-renewed
	return err
}

func leaseLost(ctx context.Context) bool { return errors.Is(context.Cause(ctx), registry.ErrLeaseLost) }

func (a *pendingRun) renew(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(cmp.Or(a.options.renewal, registry.LeaseRenew))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := a.host.Registry.Renew(ctx, a.RequestHash, a.owner); errors.Is(err,
				registry.ErrLeaseLost) {
				cancel(err)
				return
			}
		}
	}
}

// storing keeps a run that has been played.
type storing func(*artifact.Run, []played) (*artifact.Written, error)

// execute plays every split, up to the first that fails, and hands the run to store;
// nil stores nothing.
func (h *Host) execute(ctx context.Context, p *Prepared, o Options, attempt int,
	store storing) (*Result, error) {
	if o.Make != nil {
		return h.made(ctx, p, o, attempt, store)
	}
	began := time.Now()
	jobs := p.jobs()
	results, err := h.playToFailure(ctx, p, jobs, o.Progress)
	var stopped *interruption
	if errors.As(err, &stopped) && errors.Is(err, context.Canceled) && store != nil && !leaseLost(ctx) {
		h.capturer().stopped(p, stopped.at)
	}
	if err != nil {
		return nil, err
	}
	defer closeAll(results)
	half, err := h.halfwayOf(ctx, p, results)
	if err != nil {
		return nil, err
	}
	run := &artifact.Run{
		ID: p.RunID, Manifest: p.Manifest, Status: artifact.StatusCompleted, Attempt: attempt,
		StartedAt: began, CompletedAt: time.Now(),
		Origin: artifact.OriginLab, Environment: artifact.HostEnvironment(), Compact: o.Compact,
	}
	run.Manifest.Sandbox = h.level(results...)
	run.Manifest.Walls = walls(run.Manifest.Sandbox, results)
	run.Environment.Session = slices.ContainsFunc(results, func(r played) bool { return r.session })
	answer := &Result{RunID: p.RunID, RequestHash: p.RequestHash}
	for i := range results {
		if r := &results[i]; r.failure != nil && answer.Failure == nil {
			answer.Failure = &Failure{SplitID: r.job.ID, Failure: r.failure}
			if store != nil {
				answer.Failure.Capsule = h.capturer().capture(ctx, p, r)
			}
			run.Status, run.Failure = artifact.StatusFailed, r.failure
		}
		if results[i].job.keep && results[i].results != nil {
			run.Splits = append(run.Splits, results[i].split(results[i].job.ID == split.RoleTest))
		}
	}
	if run.Evaluation, err = h.assess(p, results, half, answer.Failure == nil); err != nil {
		return nil, err
	}
	o.Plan.note(run.Evaluation)
	if answer.Failure != nil && answer.Failure.Capsule != nil {
		run.Evaluation.FailureCapsule = answer.Failure.Capsule
	}
	if store == nil {
		store = func(run *artifact.Run, _ []played) (*artifact.Written, error) {
			return h.Artifacts.Rehearse(run)
		}
	}
	written, err := store(run, results)
	if err != nil {
		return nil, err
	}
	answer.Metadata, answer.Report, answer.JSON = written.Metadata, written.Report, written.JSON
	return answer, nil
}

// jobs are the splits in the order of reports, then the repetitions under stress.
func (p *Prepared) jobs() []job {
	var jobs []job
	var search job
	for _, r := range p.Manifest.Splits.Splits {
		if r.Train != nil && r.Role == split.RoleTrain && p.Request.Kind != artifact.KindTrial {
			continue // train windows are for trials
		}
		jobs = append(jobs, job{Replay: Replay{ID: r.ID, From: r.From, To: r.To}, keep: true})
		if r.Role == split.RoleSearch {
			search = jobs[len(jobs)-1]
		}
	}
	// Each split has its share of the file, so that none of them is left out.
	for i := range jobs {
		if p.Request.Kind == artifact.KindTrial {
			break // hundreds of them log the same
		}
		jobs[i].logFile, jobs[i].seriesFile = run.MaxLogFile/len(jobs), true
	}
	if search.ID == "" {
		return jobs
	}
	for _, id := range p.Request.Stress {
		harder := stresses[id]
		harder.ID, harder.From, harder.To = search.ID, search.From, search.To
		jobs = append(jobs, job{Replay: harder, stressID: id})
	}
	return jobs
}
