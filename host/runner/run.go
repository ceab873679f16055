package runner

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
)

// run is one run, from its launch until it is reset.
type run struct {
	id      string
	req     StartRequest
	startAt time.Time
	ungated string // see Gated
	ctx     context.Context
	cancel  context.CancelCauseFunc
	// done is closed when the end is visible. After that nothing here changes.
	done chan struct{}
	// returned is closed when the execution's Run has come back, which may be later.
	returned chan struct{}
	// close lets go of what the execution holds beyond memory, nil if it holds nothing; release
	// calls it.
	close func() error

	// The rest is guarded by Runner.mu.

	exec    Execution // nil after the end
	watched Watched   // stays until the reset
	last    Progress
	// stopReason is set once the run was asked to end.
	stopReason string
	// ended reports whether the outcome is decided: a stop from now on is late.
	ended bool
	// wasStopped reports whether a stop or shutdown, and not the execution itself, made the end.
	wasStopped bool
	report     Report
}

func newRun(id string, req StartRequest, exec Execution, now time.Time) *run {
	r := &run{id: id, req: req, exec: exec, watched: watchedOf(exec), startAt: now, done: make(chan struct{}),
		returned: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	if c, ok := exec.(io.Closer); ok {
		r.close = c.Close
	}
	if g, ok := exec.(Gated); ok {
		r.ungated = g.Ungated()
	}
	return r
}

// releaseRun lets go of what an execution holds beyond memory, such as mapped candles,
// once nothing of it runs any more.
func (r *Runner) releaseRun(run *run) {
	if run == nil || run.close == nil {
		return
	}
	r.wg.Go(func() {
		<-run.returned
		if err := run.close(); err != nil {
			r.opts.Logger.Warn("what a run held could not be released", "run_id", run.id, "error", err)
		}
	})
}

// driveRun runs the execution to its end, has the results kept and shows the end.
func (r *Runner) driveRun(run *run, exec Execution) {
	outcome := r.awaitOutcome(run, exec)
	run.cancel(nil)
	end, event := r.decideEnd(run, exec, outcome)
	kept, err := guard(func() (Kept, error) { return r.opts.Recorder.Finish(context.Background(), end) })
	if err != nil {
		r.logPanic(run.id, err)
		end.Failure = writeFailure(err, end.Failure)
		end.Status, end.StopReason, event = StatusFailed, StopError, fault
	}
	place, later := r.countTrials(run, err == nil)
	r.showEnd(run, event, end, kept, place)
	if later != nil {
		place = <-later
		r.mu.Lock()
		defer r.mu.Unlock()
		run.report.Trials = place
	}
}

// countPatience is how long an end waits for the count of trials, so that the results have it
// from the first moment on.
const countPatience = 200 * time.Millisecond

// countTrials counts the trials on the days of a backtest that has been kept. What takes
// longer than countPatience, or fails, does not keep the run from ending: the answer comes
// later then.
func (r *Runner) countTrials(run *run, kept bool) (place *registry.Place, later <-chan *registry.Place) {
	if r.opts.Trials == nil || !kept || run.req.Mode != ModeBacktest {
		return nil, nil
	}
	counted := make(chan *registry.Place, 1)
	r.wg.Go(func() {
		place, err := guard(func() (*registry.Place, error) { return r.opts.Trials.Place(r.closing, run.id) })
		if err != nil {
			place = nil
			r.logPanic(run.id, err)
			r.opts.Logger.Warn("the trials on the days of a run could not be counted", "run_id", run.id,
				"error", err)
		}
		counted <- place
	})
	patience := time.NewTimer(countPatience)
	defer patience.Stop()
	select {
	case place := <-counted:
		return place, nil
	case <-patience.C:
		return nil, counted
	}
}

// awaitOutcome waits for the outcome of the execution. A backtest that does not end soon after it
// was asked to is left behind.
func (r *Runner) awaitOutcome(run *run, exec Execution) Outcome {
	ended := make(chan Outcome, 1)
	go func() {
		defer close(run.returned)
		ended <- r.guardedRun(run, exec)
	}()
	select {
	case o := <-ended:
		return o
	case <-run.ctx.Done():
	}
	if run.req.Mode != ModeBacktest {
		return <-ended
	}
	patience := time.NewTimer(r.opts.DetachAfter)
	defer patience.Stop()
	select {
	case o := <-ended:
		return o
	case <-patience.C:
		r.opts.Logger.Warn("execution does not end, going on without it", "run_id", run.id, "waited",
			r.opts.DetachAfter)
		return Outcome{Stopped: true,
			Message: "The run did not end within " + r.opts.DetachAfter.String() +
				" of the stop and was left behind."}
	}
}

func (r *Runner) guardedRun(run *run, exec Execution) Outcome {
	o, err := guard(func() (Outcome, error) { return exec.Run(run.ctx), nil })
	if err != nil {
		r.logPanic(run.id, err)
		o.Failure = internalFailure(
			"The host failed internally during the run; the service's log has the details.")
	}
	return o
}

func (r *Runner) logPanic(runID string, err error) {
	if p, ok := err.(*panicError); ok {
		r.opts.Logger.Error("panic", "run_id", runID, "type", p.kind, "stack", string(p.stack))
	}
}

// decideEnd decides how the run ended: from here on a stop is late.
func (r *Runner) decideEnd(run *run, exec Execution, o Outcome) (Ended, event) {
	at := r.opts.Now()
	last, results, ok := finalResults(exec)
	if !ok && o.Failure == nil {
		o.Failure = internalFailure("The run ended, but the host cannot tell what it has produced.")
	}
	results = withConcerns(results)
	r.mu.Lock()
	defer r.mu.Unlock()
	run.ended = true
	run.wasStopped = o.Stopped && r.state == stopping
	if ok {
		run.last = last
	} else {
		run.watched = ofResults(&artifact.Results{})
	}
	if o.Stopped && !run.wasStopped && !o.Withdrawn && o.Failure == nil {
		o.Failure = internalFailure("The run ended early without a request to stop.")
	}
	end := Ended{
		Started: run.started(exec), Status: StatusCompleted, StopReason: StopFinished,
		Message: strings.TrimSpace(o.Message + " " + run.ungated), EndTime: at, Results: results,
	}
	switch {
	case o.Failure != nil:
		end.Failure = withoutNulls(o.Failure)
		end.Status, end.StopReason, end.Partial = StatusFailed, StopError, true
		return end, fault
	case run.wasStopped:
		end.StopReason, end.Partial = run.stopReason, true
		return end, stopped
	case o.Withdrawn:
		end.StopReason, end.Partial = StopStopped, true
		return end, withdrawn
	}
	return end, dataEnd
}

// withConcerns returns a copy with the concerns about the numbers.
func withConcerns(r *artifact.Results) *artifact.Results {
	out := *r
	out.Warnings = append(slices.Clip(r.Warnings), r.Concerns()...)
	return &out
}

// showEnd makes the end visible.
func (r *Runner) showEnd(run *run, e event, end Ended, kept Kept, place *registry.Place) {
	results := *end.Results
	results.RequestHash, results.ResultHash, results.DecisionHash = kept.RequestHash, kept.ResultHash,
		kept.DecisionHash
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Snapshot{
		Status: end.Status, RunID: run.id, Mode: run.req.Mode,
		StartTime: run.startAt, EndTime: end.EndTime, UpdatedAt: end.EndTime,
		Runtime:  end.EndTime.Sub(run.startAt),
		Progress: run.last, StopReason: end.StopReason, Partial: end.Partial, Message: end.Message,
		Failure: end.Failure, Ungated: run.ungated,
	}
	s.Progress.ETASeconds = 0
	if end.Failure != nil {
		s.Error = end.Failure.Message
	}
	run.report = Report{
		Snapshot: s, Request: run.req, Manifest: manifestOf(run.exec), Results: &results,
		Artifacts: kept.Artifacts, Trials: place,
	}
	run.exec = nil
	if _, follows := run.watched.(resultsView); follows {
		run.watched = ofResults(&results)
	}
	r.counters.add(s)
	r.moveLocked(transitions[e][r.state].to)
	run.report.Snapshot.Seq = r.seq
	close(run.done)
	r.opts.Logger.Info("run ended", "run_id", run.id, "status", s.Status, "stop_reason", s.StopReason,
		"runtime", s.Runtime, "trades", s.Progress.TradeCount, "error", s.Error, "message", s.Message)
}

func (r *run) started(exec Execution) Started {
	return Started{RunID: r.id, Request: r.req, StartTime: r.startAt, Execution: exec}
}

func internalFailure(message string) *artifact.Failure {
	return withoutNulls(&artifact.Failure{Code: CodeInternal, Message: message})
}

// writeFailure returns what becomes of a run whose files or row could not be written. How
// the run itself failed, if it did, is kept beside it.
func writeFailure(err error, before *artifact.Failure) *artifact.Failure {
	f := &artifact.Failure{Code: CodeArtifactWriteFailed,
		Message: "The results could not be written: " + err.Error()}
	if before != nil {
		f.Phase, f.CandleTime, f.LogTail, f.PluginExitCode = before.Phase, before.CandleTime, before.LogTail,
			before.PluginExitCode
		f.Data = map[string]any{"run_failure": map[string]any{"code": before.Code, "message": before.Message,
			"data": before.Data}}
	}
	return withoutNulls(f)
}

// withoutNulls returns a copy of f that shows as JSON without nulls where lists are expected.
func withoutNulls(f *artifact.Failure) *artifact.Failure {
	c := *f
	c.Code = cmp.Or(c.Code, CodeInternal)
	c.Message = cmp.Or(c.Message, c.Code)
	if c.LogTail == nil {
		c.LogTail = []string{}
	}
	if c.Data == nil {
		c.Data = map[string]any{}
	}
	return &c
}

// Change is one change of status.
type Change struct {
	// Previous is the status before.
	Previous string
	// Snapshot is the state right after. Its Seq numbers the changes without a gap.
	Snapshot Snapshot
}

// feed hands changes to subscribers. Each has a queue of its own without a limit,
// because no change may be dropped or merged and publishing must not wait.
type feed struct {
	mu   sync.Mutex
	subs map[*subscriber]struct{}
}

type subscriber struct {
	out  chan Change
	wake chan struct{} // capacity 1
	quit chan struct{}

	mu    sync.Mutex
	queue []Change
}

func (f *feed) publish(c Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		s.mu.Lock()
		s.queue = append(s.queue, c)
		s.mu.Unlock()
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

func (f *feed) subscribe() (<-chan Change, func()) {
	s := &subscriber{out: make(chan Change), wake: make(chan struct{}, 1), quit: make(chan struct{})}
	f.mu.Lock()
	if f.subs == nil {
		f.subs = map[*subscriber]struct{}{}
	}
	f.subs[s] = struct{}{}
	f.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(s.deliver)
	var once sync.Once
	return s.out, func() {
		once.Do(func() {
			f.mu.Lock()
			delete(f.subs, s)
			f.mu.Unlock()
			close(s.quit)
			wg.Wait()
		})
	}
}

func (s *subscriber) deliver() {
	defer close(s.out)
	for {
		select {
		case <-s.wake:
		case <-s.quit:
			return
		}
		s.mu.Lock()
		batch := s.queue
		s.queue = nil
		s.mu.Unlock()
		for _, c := range batch {
			select {
			case s.out <- c:
			case <-s.quit:
				return
			}
		}
	}
}
