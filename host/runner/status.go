package runner

import (
	"cmp"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The modes of a run.
const (
	ModeBacktest = "backtest"
	ModePaper    = "paper"
	ModeLive     = "live"
)

// phaseStopping is shown from the moment a stop is accepted, whatever the execution reports.
const phaseStopping = "stopping"

// The stop reasons of a run that has ended.
const (
	StopFinished = "finished"
	StopStopped  = "stopped"
	StopShutdown = "shutdown"
	StopError    = "error"
)

// Snapshot is where the service stands. When idle everything but Status and Seq is zero.
type Snapshot struct {
	// Seq counts the changes of status since the service started.
	Seq    uint64
	Status string
	RunID  string
	Mode   string
	// Phase is empty unless the status is running.
	Phase string
	// StartTime is zero when idle, EndTime until the run has ended.
	StartTime, EndTime, UpdatedAt time.Time
	Runtime                       time.Duration
	// Progress has the newest numbers; after the end the last ones.
	Progress Progress
	// StopReason is finished, stopped, shutdown or error; empty until the end.
	StopReason string
	// Partial reports whether the run ended before its data did.
	Partial bool
	// Ungated is why the run trades real money although no deployment policy has let it, see
	// Gated; empty for all other runs.
	Ungated string
	// Message is for people; it may be empty.
	Message string
	// Error and Failure are set when the status is failed.
	Error   string
	Failure *artifact.Failure
}

// Report is a Snapshot with what the run was asked and what it has produced so far.
type Report struct {
	Snapshot Snapshot
	Request  StartRequest
	// Manifest is the exact inputs of the run; nil when idle and for executions without one.
	Manifest *artifact.Manifest
	// Results is never nil; when idle it is empty.
	Results *artifact.Results
	// Artifacts is the folder in the state directory, runs/<run_id>; empty until it is written.
	Artifacts string
	// Trials is which trial a backtest was; nil until it is counted, which may be a moment
	// after the end, and for runs that are none.
	Trials *registry.Place
}

// Counters sum up the runs since the service started.
type Counters struct {
	// RunsTotal counts started runs, RunsFailed those of them that failed.
	RunsTotal, RunsFailed int64
	// LastRun is how long the newest ended run took.
	LastRun time.Duration
	// CandlesPerSecond is the rate of the current run, else of the last one.
	CandlesPerSecond       float64
	Candles, Orders, Fills int64
	// Outcomes counts ended runs by mode and final status, ordered by both.
	Outcomes []OutcomeCount
}

// OutcomeCount is how many runs of a mode ended in a status.
type OutcomeCount struct {
	Mode, Status string
	Count        int64
}

// Status returns where the service stands right now.
func (r *Runner) Status() Snapshot {
	exec, run := r.currentRun()
	var p Progress
	if exec != nil {
		p = exec.Progress() // outside the lock: an execution may take its own locks here
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if exec != nil && !run.ended && !p.UpdatedAt.Before(run.last.UpdatedAt) {
		run.last = p
	}
	return r.snapshotLocked()
}

// Link returns the connection of the current run to its exchange. It reports whether there is one.
func (r *Runner) Link() (Link, bool) {
	exec, _ := r.currentRun()
	if l, ok := exec.(Linked); ok {
		return l.Link(), true
	}
	return Link{}, false
}

// currentRun returns the running execution and its run; nil when none is running.
func (r *Runner) currentRun() (Execution, *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run == nil || r.run.exec == nil {
		return nil, nil
	}
	return r.run.exec, r.run
}

func (r *Runner) snapshotLocked() Snapshot {
	now := Snapshot{Seq: r.seq, Status: r.state.status()}
	if r.state == idle {
		return now
	}
	run := r.run
	if r.state == completed || r.state == failed {
		now = run.report.Snapshot
		now.Seq = r.seq
		return now
	}
	now.RunID, now.Mode, now.Phase = run.id, run.req.Mode, cmp.Or(run.last.Phase, "starting")
	if r.state == stopping {
		now.Phase = phaseStopping
	}
	now.StartTime, now.UpdatedAt = run.startAt, run.last.UpdatedAt
	if now.UpdatedAt.IsZero() {
		now.UpdatedAt = run.startAt
	}
	now.Runtime = max(r.opts.Now().Sub(run.startAt), 0)
	now.Progress = run.last
	now.Ungated, now.Message = run.ungated, run.ungated
	return now
}

// Detail returns the Report of any status: while a run is on, what it has produced so far.
func (r *Runner) Detail() Report {
	now := r.Status()
	exec, run := r.currentRun()
	if exec != nil && run.id == now.RunID {
		return Report{Snapshot: now, Request: run.req, Manifest: manifestOf(exec), Results: resultsOf(exec)}
	}
	// The run ended, or there was none, since the first look.
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == completed || r.state == failed {
		return r.run.report
	}
	return Report{Snapshot: r.snapshotLocked(), Results: &artifact.Results{}}
}

// Results returns the Report of a run that has ended, or of a paper or live run up to now: partial, its end
// the moment of the snapshot. While a backtest runs the error is RESULTS_NOT_READY, without a run NO_RUN.
func (r *Runner) Results() (Report, error) {
	err := r.checkEvent(readResults, nil)
	if refused, ok := errors.AsType[*Error](err); ok && refused.Code == ResultsNotReady &&
		refused.Mode != ModeBacktest {
		rep := r.Detail() // which may have ended since
		if s := &rep.Snapshot; s.Status == StatusRunning {
			s.Partial, s.EndTime = true, s.UpdatedAt
		}
		if rep.Snapshot.Status != StatusIdle {
			return rep, nil
		}
		return Report{}, newError(NoRun, rep.Snapshot, nil)
	}
	if err != nil {
		return Report{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.nextLocked(readResults, nil); err != nil {
		return Report{}, err
	}
	return r.run.report, nil
}

// Counters sum up the runs so far, the current one included.
func (r *Runner) Counters() Counters {
	r.Status() // brings the current run's numbers up to date
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counters
	c.Outcomes = slices.Clone(c.Outcomes)
	if r.run != nil && r.run.exec != nil {
		c.CandlesPerSecond = r.run.last.CandlesPerSecond
		c.Candles += r.run.last.CandlesDone
		c.Orders += r.run.last.Orders
		c.Fills += r.run.last.Fills
	}
	return c
}

// add counts a run that has ended.
func (c *Counters) add(s Snapshot) {
	if s.Status == StatusFailed {
		c.RunsFailed++
	}
	c.LastRun, c.CandlesPerSecond = s.Runtime, s.Progress.CandlesPerSecond
	c.Candles += s.Progress.CandlesDone
	c.Orders += s.Progress.Orders
	c.Fills += s.Progress.Fills
	at, found := slices.BinarySearchFunc(c.Outcomes, s, func(o OutcomeCount, s Snapshot) int {
		return cmp.Or(cmp.Compare(o.Mode, s.Mode), cmp.Compare(o.Status, s.Status))
	})
	if !found {
		c.Outcomes = slices.Insert(c.Outcomes, at, OutcomeCount{Mode: s.Mode, Status: s.Status})
	}
	c.Outcomes[at].Count++
}

func manifestOf(exec Execution) *artifact.Manifest {
	if d, ok := exec.(Described); ok {
		m := d.Manifest()
		return &m
	}
	return nil
}

// Watch returns the current run for those who follow it, also after its end, until it is
// reset. It reports whether there is one.
func (r *Runner) Watch() (Watch, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run == nil {
		return Watch{}, false
	}
	return Watch{Watched: r.run.watched, RunID: r.run.id, Request: r.run.req}, true
}

// resultsView follows a run through its results. It does not see how orders change.
type resultsView func() *artifact.Results

func ofResults(r *artifact.Results) resultsView { return func() *artifact.Results { return r } }

func watchedOf(exec Execution) Watched {
	if w, ok := exec.(Watched); ok {
		return w
	}
	return resultsView(func() *artifact.Results { return resultsOf(exec) })
}

func resultsOf(exec Execution) *artifact.Results {
	return cmp.Or(exec.Results(), &artifact.Results{})
}

// Look implements Watched.
func (v resultsView) Look() Look {
	r := v()
	changes := make([]int32, len(r.Orders))
	for i := range changes {
		changes[i] = int32(i)
	}
	return Look{
		Orders: len(r.Orders), Changes: changes, Fills: r.Fills, Trades: r.Trades, Positions: r.Positions,
		Equity: r.Equity, Annotations: r.Annotations, Log: r.Log, LogTotal: int64(len(r.Log)),
	}
}

// OrdersAt implements Watched.
func (v resultsView) OrdersAt(indexes []int) []market.Order {
	orders := v().Orders
	out := make([]market.Order, len(indexes))
	for i, at := range indexes {
		out[i] = orders[at]
	}
	return out
}

// Candles implements Watched.
func (v resultsView) Candles(market.Symbol, func(*market.Series)) bool { return false }

// idPrefix marks runs of the service.
const idPrefix = "svc_"

// crockford writes the digits of a ULID, in lower case.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz")

// idSource makes run ids: svc_ and a ULID, 48 bits of Unix milliseconds and 80
// random bits. Ids ascend: within a millisecond, or when the clock goes back, the
// previous one is counted up.
type idSource struct {
	random io.Reader

	mu   sync.Mutex
	last [16]byte
}

func (s *idSource) next(now time.Time) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(max(now.UnixMilli(), 0))<<16)
	if string(id[:6]) > string(s.last[:6]) {
		if _, err := io.ReadFull(s.random, id[6:]); err != nil {
			return "", err
		}
		s.last = id
	} else {
		countUp(&s.last)
	}
	// 32 bits in front make 32 digits of 160 bits, of which the last 26 are the ULID.
	return idPrefix + crockford.EncodeToString(append(make([]byte, 4), s.last[:]...))[6:], nil
}

func countUp(id *[16]byte) {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			return
		}
	}
}
