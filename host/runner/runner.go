// Package runner owns the one run that the service can have at a time: it starts,
// stops, ends and resets it, and shows at any moment where it stands.
//
// The API validates a request and hands it over with a function that launches the
// strategy; what comes back is an Execution, the run itself, which lives in another
// package. The runner decides what is allowed in which state by one table
// (transitions), runs the Execution on a goroutine of its own, cancels it with a
// cause that distinguishes a stop from a shutdown, has its results kept by a Recorder, and
// only then shows that the run has ended. Archive is the Recorder of the service:
// files by package artifact, rows by package registry.
//
// Starts, stops and resets are serialised: of any number of concurrent starts one
// wins. Status, Detail and Results never wait for them. Every change of status goes
// to every subscriber in order; publishing never blocks and merges nothing.
//
// The package may import artifact, registry, result and the market nouns. It knows
// neither HTTP nor plugins nor the simulator.
package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
)

// LaunchFunc launches the strategy and has its parameters accepted. It ends soon
// after ctx is cancelled. The execution that it returns is always run.
type LaunchFunc func(ctx context.Context, runID string) (Execution, error)

// Options configure a Runner. Zero durations mean the defaults.
type Options struct {
	// Recorder keeps what runs produce. Required.
	Recorder Recorder
	// Trials counts what has been tried on the days of a backtest, once it has been kept; nil
	// leaves that out.
	Trials TrialCounter
	Logger hclog.Logger
	// Now is the clock that is shown; nil is time.Now.
	Now func() time.Time
	// LaunchTimeout bounds a launch: 10 s.
	LaunchTimeout time.Duration
	// DetachAfter is how long a backtest that was asked to stop may take before the runner goes on without
	// it: 8 s.
	DetachAfter time.Duration
	// StopTimeout is how long Stop waits for the end before it answers "stopping": 10 s.
	StopTimeout time.Duration
	// ShutdownTimeout bounds Shutdown: 30 s.
	ShutdownTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.LaunchTimeout = cmp.Or(o.LaunchTimeout, 10*time.Second)
	o.DetachAfter = cmp.Or(o.DetachAfter, 8*time.Second)
	o.StopTimeout = cmp.Or(o.StopTimeout, 10*time.Second)
	o.ShutdownTimeout = cmp.Or(o.ShutdownTimeout, 30*time.Second)
	return o
}

// Runner is the run state machine of the service. Its methods may be called from
// any goroutine. End it with Shutdown.
type Runner struct {
	opts Options
	ids  idSource
	feed feed
	// turn is held by the start, stop or reset that is being decided.
	turn chan struct{}
	// closing is cancelled when Shutdown begins.
	closing      context.Context
	beginClosing context.CancelCauseFunc
	wg           sync.WaitGroup

	mu       sync.Mutex
	state    state
	seq      uint64
	run      *run // nil when idle
	counters Counters
}

// New makes an idle Runner.
func New(opts Options) *Runner {
	r := &Runner{opts: opts.withDefaults(), ids: idSource{random: rand.Reader}, turn: make(chan struct{}, 1)}
	r.closing, r.beginClosing = context.WithCancelCause(context.Background())
	return r
}

// takeTurn waits for the caller's turn to start, stop or reset. Call endTurn afterwards.
func (r *Runner) takeTurn(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *Runner) endTurn() { <-r.turn }

// checkEvent is nil if the event may happen now. The cause is that of a failed start.
func (r *Runner) checkEvent(e event, cause error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.nextLocked(e, cause)
	return err
}

// nextLocked returns the state after an event, or why it may not happen now: an [Error].
func (r *Runner) nextLocked(e event, cause error) (state, error) {
	t := transitions[e][r.state]
	if t.refuse != "" {
		return r.state, newError(t.refuse, r.snapshotLocked(), cause)
	}
	return t.to, nil
}

// Start launches a validated request and begins its run. A refusal is an *Error;
// RUN_START_FAILED wraps what launch returned. While another start is launching this
// one waits for its outcome. After an error nothing is active.
func (r *Runner) Start(ctx context.Context, req StartRequest, launch LaunchFunc) (Snapshot, error) {
	return r.startAs(ctx, start, "", req, launch)
}

// Replace is Start in the place of the ended run of that id, which stays as it is
// until the new one begins, in one step. After an error it is still there. A run that
// only a reset may clear is not replaced. When idle it is Start.
func (r *Runner) Replace(
	ctx context.Context, runID string, req StartRequest, launch LaunchFunc,
) (Snapshot, error) {
	return r.startAs(ctx, replace, runID, req, launch)
}

func (r *Runner) startAs(
	ctx context.Context, e event, replaced string, req StartRequest, launch LaunchFunc,
) (Snapshot, error) {
	if r.closing.Err() != nil {
		return Snapshot{}, newError(ShuttingDown, r.Status(), nil)
	}
	if err := r.takeTurn(ctx); err != nil {
		return Snapshot{}, err
	}
	defer r.endTurn()
	if r.closing.Err() != nil {
		return Snapshot{}, newError(ShuttingDown, r.Status(), nil)
	}
	if e == replace && !r.isReplaceable(replaced) {
		e = start // which is refused, as there is a run
	}
	if err := r.checkEvent(e, nil); err != nil {
		return Snapshot{}, err
	}
	run, err := r.launch(ctx, req, launch)
	switch {
	case err != nil && r.closing.Err() != nil:
		return Snapshot{}, newError(ShuttingDown, r.Status(), nil)
	case err != nil:
		return Snapshot{}, r.checkEvent(launchFailed, err)
	}
	exec := run.exec
	now := r.makeCurrent(run, e)
	r.opts.Logger.Info("run started", "run_id", run.id, "mode", req.Mode, "strategy", req.StrategyName,
		"symbols", req.Symbols, "timeframe", req.Timeframe)
	r.wg.Go(func() { r.driveRun(run, exec) })
	return now, nil
}

// isReplaceable reports whether nothing but the run of that id would make room, and may.
func (r *Runner) isReplaceable(runID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run == nil || r.run.id == runID && !resetOnly(r.run.report.Snapshot)
}

// launch makes the execution and its row.
func (r *Runner) launch(ctx context.Context, req StartRequest, launch LaunchFunc) (*run, error) {
	id, err := r.ids.next(r.opts.Now())
	if err != nil {
		return nil, err
	}
	lctx, cancel := context.WithTimeoutCause(ctx, r.opts.LaunchTimeout, errLaunchTimeout)
	defer cancel()
	defer context.AfterFunc(r.closing, cancel)()
	exec, err := launch(lctx, id)
	if err != nil {
		if errors.Is(context.Cause(lctx), errLaunchTimeout) {
			err = errors.Join(errLaunchTimeout, err)
		}
		return nil, err
	}
	run := newRun(id, req, exec, r.opts.Now())
	if err := r.opts.Recorder.Begin(context.WithoutCancel(ctx), run.started(exec)); err != nil {
		// The execution has a process by now, which only Run takes down.
		run.cancel(ErrStopRequested)
		r.wg.Go(func() { r.awaitOutcome(run, exec) })
		r.releaseRun(run)
		return nil, err
	}
	return run, nil
}

var errLaunchTimeout = errors.New("the strategy was not ready in time")

// makeCurrent makes the launched run the current one, and lets go of the one before.
func (r *Runner) makeCurrent(run *run, e event) Snapshot {
	run.last = run.exec.Progress()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.releaseRun(r.run)
	r.run = run
	r.counters.RunsTotal++
	r.moveLocked(transitions[e][r.state].to)
	return r.snapshotLocked()
}

// moveLocked changes the state and notifies the subscribers if the status changed.
func (r *Runner) moveLocked(to state) {
	from := r.state
	r.state = to
	if from.status() == to.status() {
		return
	}
	r.seq++
	r.feed.publish(Change{Previous: from.status(), Snapshot: r.snapshotLocked()})
}

// Stop ends the run and waits for its end, at most Options.StopTimeout: then the
// answer is running, phase stopping. So it is at once when another caller has stopped
// the run before. A run that came to its end by itself before it noticed the stop is
// not active any more: RUN_NOT_ACTIVE.
func (r *Runner) Stop(ctx context.Context) (Snapshot, error) {
	run, first, now, err := r.decideStop(ctx)
	if err != nil || run == nil {
		return now, err
	}
	timer := time.NewTimer(r.opts.StopTimeout)
	defer timer.Stop()
	select {
	case <-run.done:
	case <-timer.C:
	case <-ctx.Done():
		return Snapshot{}, context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now = run.report.Snapshot; now.Status == "" { // not at its end yet, so it is still the current run
		now = r.snapshotLocked()
	}
	if first && (run.wasStopped || !run.ended) {
		return now, nil
	}
	return Snapshot{}, newError(RunNotActive, now, nil)
}

// decideStop has the run end and returns it to wait for. First reports whether this stop ends
// the run: one that came to its end before may still be writing its files. The
// run is nil when it was asked to end already: the answer is the snapshot.
func (r *Runner) decideStop(ctx context.Context) (_ *run, first bool, _ Snapshot, _ error) {
	if err := r.takeTurn(ctx); err != nil {
		return nil, false, Snapshot{}, err
	}
	defer r.endTurn()
	r.mu.Lock()
	defer r.mu.Unlock()
	to, err := r.nextLocked(stop, nil)
	switch {
	case err != nil:
		return nil, false, Snapshot{}, err
	case r.run.ended && !r.run.wasStopped:
		return r.run, false, Snapshot{}, nil
	case r.state == stopping:
		return nil, false, r.snapshotLocked(), nil
	}
	r.moveLocked(to)
	r.run.stopReason = StopStopped
	r.run.cancel(ErrStopRequested)
	return r.run, true, Snapshot{}, nil
}

// Reset forgets the ended run. The answer is idle with the id of the run that was
// cleared, empty if there was none.
func (r *Runner) Reset(ctx context.Context) (Snapshot, error) {
	if err := r.takeTurn(ctx); err != nil {
		return Snapshot{}, err
	}
	defer r.endTurn()
	r.mu.Lock()
	defer r.mu.Unlock()
	to, err := r.nextLocked(reset, nil)
	if err != nil {
		return Snapshot{}, err
	}
	cleared := r.snapshotLocked().RunID
	r.releaseRun(r.run)
	r.run = nil
	r.moveLocked(to)
	now := r.snapshotLocked()
	now.RunID = cleared
	return now, nil
}

// Shutdown refuses further starts, ends a run with stop reason shutdown, waits until
// everything has been written and returns. The error means that the budget was not
// enough, or that ctx was cancelled.
func (r *Runner) Shutdown(ctx context.Context) error {
	r.beginClosing(ErrShutdown)
	ctx, cancel := context.WithTimeoutCause(ctx, r.opts.ShutdownTimeout, errShutdownTimeout)
	defer cancel()
	if err := r.takeTurn(ctx); err != nil {
		return err
	}
	r.endForShutdown()
	r.endTurn()
	done := make(chan struct{})
	go func() {
		r.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errShutdownTimeout = errors.New("the run did not end in time for the shutdown")

func (r *Runner) endForShutdown() {
	r.mu.Lock()
	defer r.mu.Unlock()
	from, to := r.state, transitions[shutdown][r.state].to
	if from != running || r.run.ended {
		return
	}
	r.moveLocked(to)
	r.run.stopReason = StopShutdown
	r.run.cancel(ErrShutdown)
}

// Restore shows a paper or live run that a crash of the service cut short: failed
// until it is reset. The snapshot needs the run's id, mode, times and last progress;
// the failure's code is RUN_INTERRUPTED if it has none. Cleared is called at the reset; it may be nil.
func (r *Runner) Restore(rep Report, cleared func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	to, err := r.nextLocked(interrupted, nil)
	if err != nil {
		return err
	}
	s := &rep.Snapshot
	f := *cmp.Or(s.Failure, &artifact.Failure{})
	f.Code = cmp.Or(f.Code, CodeRunInterrupted)
	f.Message = cmp.Or(f.Message, "The service ended without warning while the run was on.")
	s.Status, s.StopReason, s.Phase, s.Partial = to.status(), StopError, "", true
	s.Failure, s.Error = withoutNulls(&f), f.Message
	rep.Results = cmp.Or(rep.Results, &artifact.Results{})
	done := make(chan struct{})
	close(done)
	r.run = &run{
		id: s.RunID, req: rep.Request, done: done, returned: done, ended: true, report: rep,
		watched: ofResults(rep.Results), close: cleared,
	}
	r.moveLocked(to)
	r.run.report.Snapshot.Seq = r.seq
	return nil
}

// Subscribe delivers every change of status from now on, in order, until the
// returned function is called, which closes the channel. To begin without a gap,
// subscribe first, then call Status, and skip changes up to its Seq.
func (r *Runner) Subscribe() (<-chan Change, func()) { return r.feed.subscribe() }

// Action is what an operator asks of a run.
type Action string

// The actions.
const (
	Pause       Action = "pause"   // no entry leaves until resume
	Resume      Action = "resume"  // ends a pause
	Flatten     Action = "flatten" // pause, entries cancelled, everything sold
	Close       Action = "close"   // one symbol is sold
	Cancel      Action = "cancel"  // one order, or all entries
	Acknowledge Action = "acknowledge"
	StopRun     Action = "stop"
)

// Command is one control of a paper or live run.
type Command struct {
	Action Action
	// Symbol of a close, OrderID of a cancel ("": all entries), AlarmID of an acknowledgement.
	Symbol, OrderID, AlarmID string
	// Positions is what a stop does with them: leave, cancel or flatten; "" is the service's --on-stop.
	Positions string
	// Who and Why are as the operator gives them, unchecked.
	Who, Why string
}

// Controlled is an Execution that an operator can intervene in.
type Controlled interface {
	// Control carries a command out, or has a stop know what to do with positions. The answer is for people.
	Control(context.Context, Command) (string, error)
}

// Control hands a command to the run. Of a run that has ended alarms can be acknowledged. The answer is where
// the run stands then, its message what was done. A refusal is an *Error or that of the execution.
func (r *Runner) Control(ctx context.Context, c Command) (Snapshot, error) {
	exec, run := r.currentRun()
	if exec == nil {
		return r.controlEnded(c)
	}
	message := ""
	controlled, ok := exec.(Controlled)
	switch {
	case ok:
		var err error
		if message, err = controlled.Control(ctx, c); err != nil {
			return Snapshot{}, err
		}
	case c.Action != StopRun || c.Positions != "":
		return Snapshot{}, newError(ControlNotSupported, r.Status(), nil)
	}
	if c.Action == StopRun {
		return r.Stop(ctx)
	}
	r.opts.Logger.Info("control", "run_id", run.id, "action", string(c.Action), "who", c.Who, "why", c.Why,
		"outcome", message)
	now := r.Status()
	now.Message = message
	return now, nil
}

func (r *Runner) controlEnded(c Command) (Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.snapshotLocked()
	if c.Action != Acknowledge || r.run == nil {
		return Snapshot{}, newError(RunNotActive, now, nil)
	}
	p := &r.run.report.Snapshot.Progress
	list := slices.Clone(p.Alarms)
	for i := range list {
		if list[i].ID == c.AlarmID {
			list[i].Acknowledged = true
			p.Alarms = list
			r.opts.Logger.Info("control", "run_id", r.run.id, "action", string(c.Action), "alarm", c.AlarmID,
				"who", c.Who, "why", c.Why)
			now = r.snapshotLocked()
			now.Message = "Alarm " + c.AlarmID + " is acknowledged"
			return now, nil
		}
	}
	return Snapshot{}, newError(NoAlarm, now, nil)
}

// snapshotTimeout bounds how long a finished execution may take to return what it has
// produced: one that panicked or hangs may hold its own locks.
const snapshotTimeout = 2 * time.Second

// panicError is a panic of an execution or a recorder. Only its type and stack are
// kept: the value may hold a secret.
type panicError struct {
	kind  string
	stack []byte
}

func (p *panicError) Error() string { return "internal error (panic: " + p.kind + ")" }

// guard turns a panic of f into an error.
func guard[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{kind: fmt.Sprintf("%T", p), stack: debug.Stack()}
		}
	}()
	return f()
}

// finalResults asks a finished execution for its last numbers and results. It reports
// whether the execution answered in time and without a panic; else the results are empty.
func finalResults(exec Execution) (Progress, *artifact.Results, bool) {
	type answer struct {
		progress Progress
		results  *artifact.Results
	}
	answers := make(chan *answer, 1)
	go func() {
		a, err := guard(func() (*answer, error) { return &answer{exec.Progress(), exec.Results()}, nil })
		if err != nil || a.results == nil {
			a = nil
		}
		answers <- a
	}()
	timer := time.NewTimer(snapshotTimeout)
	defer timer.Stop()
	select {
	case a := <-answers:
		if a != nil {
			return a.progress, a.results, true
		}
	case <-timer.C:
	}
	return Progress{}, &artifact.Results{}, false
}
