package job

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// MaxQueued is how many jobs wait at most.
const MaxQueued = 20

const (
	kept      = 100             // jobs that have ended
	endGrace  = 3 * time.Second // for the lab to end its plugins
	lookEvery = 100 * time.Millisecond
	maxAnswer = 32 << 20
)

// What is refused.
var (
	ErrQueueFull   = errors.New("too many jobs wait already")
	ErrNotFound    = errors.New("there is no such job")
	ErrUnavailable = errors.New("there is no program lab")
	ErrClosed      = errors.New("the service is shutting down")
)

// Why a job that is at work ends before its time.
var (
	errCancelled = errors.New("the job was cancelled")
	errYield     = errors.New("real money is traded")
)

// Options are what a Manager needs.
type Options struct {
	// Program is the path of the lab, Args are those of every call. Env is added to its environment.
	Program   string
	Args, Env []string
	// StateDir is where the list of jobs is kept.
	StateDir string
	// Busy reports that real money is traded: then jobs wait.
	Busy   func() bool
	Logger hclog.Logger
}

// Call calls the lab: the result of its answer, or a *LabError, the cause of the context, or an
// error of the system.
type Call func(ctx context.Context, args ...string) (json.RawMessage, error)

// Work is what a job does. It may be called again from its beginning. What it returns is added to
// the links of the job.
type Work func(ctx context.Context, lab Call) (Links, error)

// Manager runs jobs. It may be used by several goroutines.
type Manager struct {
	opts   Options
	wake   chan struct{}
	cancel context.CancelCauseFunc
	done   chan struct{}

	mu      sync.Mutex
	closed  bool
	entries []*entry // oldest first
}

// entry is a job with what runs it; ended is closed at its end.
type entry struct {
	Job
	work      Work
	stop      context.CancelCauseFunc // while it is at work
	cancelled bool                    // somebody wants it to end
	ended     chan struct{}
}

// Open reads the jobs of earlier starts and begins to run new ones.
func Open(o Options) *Manager {
	ctx, cancel := context.WithCancelCause(context.Background())
	m := &Manager{opts: o, wake: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{})}
	jobs, err := readList(o.StateDir)
	if err != nil {
		o.Logger.Error("the list of jobs is begun anew", "error", err)
	}
	for _, j := range jobs {
		e := &entry{Job: j, ended: make(chan struct{})}
		if !j.Status.isOver() {
			m.end(e, Interrupted, nil)
		} else {
			close(e.ended)
		}
		m.entries = append(m.entries, e)
	}
	if len(jobs) > 0 {
		m.save()
	}
	go m.loop(ctx)
	return m
}

// Close ends the job that is at work and interrupts those that wait.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel(ErrClosed)
	<-m.done
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.entries {
		if !e.Status.isOver() {
			m.end(e, Interrupted, nil)
		}
	}
	m.save()
	return nil
}

// Check reports why no job can be added now: ErrClosed, ErrUnavailable or ErrQueueFull.
func (m *Manager) Check() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.check()
}

func (m *Manager) check() error {
	waiting := 0
	for _, e := range m.entries {
		if e.Status == Queued {
			waiting++
		}
	}
	info, err := os.Stat(m.opts.Program)
	switch {
	case m.closed:
		return ErrClosed
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("%w: %s is not an executable file", ErrUnavailable, m.opts.Program)
	case waiting >= MaxQueued:
		return ErrQueueFull
	}
	return nil
}

// Add puts a job at the end of the queue. Errors are those of Check.
func (m *Manager) Add(kind string, links Links, w Work) (Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.check(); err != nil {
		return Job{}, err
	}
	e := &entry{work: w, ended: make(chan struct{}), Job: Job{
		ID: "job_" + strings.ToLower(rand.Text()), Kind: kind, Status: Queued, QueuedAt: now(), Links: links,
		Reports: []json.RawMessage{},
	}}
	m.entries = append(m.entries, e)
	over := 0
	for _, e := range m.entries {
		if e.Status.isOver() {
			over++
		}
	}
	m.entries = slices.DeleteFunc(m.entries, func(e *entry) bool {
		old := e.Status.isOver() && over > kept
		if old {
			over--
		}
		return old
	})
	m.save()
	m.look()
	return e.Job, nil
}

// List lists the jobs, newest first.
func (m *Manager) List() []Job {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Job, 0, len(m.entries))
	for _, e := range slices.Backward(m.entries) {
		out = append(out, e.Job)
	}
	return out
}

// Get returns a job; the error is ErrNotFound.
func (m *Manager) Get(id string) (Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.find(id)
	if err != nil {
		return Job{}, err
	}
	return e.Job, nil
}

func (m *Manager) find(id string) (*entry, error) {
	i := slices.IndexFunc(m.entries, func(e *entry) bool { return e.ID == id })
	if i < 0 {
		return nil, ErrNotFound
	}
	return m.entries[i], nil
}

// Cancel ends a job and returns once nothing of it runs any more. One that has ended stays as it is.
func (m *Manager) Cancel(ctx context.Context, id string) (Job, error) {
	m.mu.Lock()
	e, err := m.find(id)
	if err != nil {
		m.mu.Unlock()
		return Job{}, err
	}
	switch {
	case e.Status == Queued:
		m.end(e, Cancelled, nil)
		m.save()
	case e.Status == Running:
		e.cancelled = true
		e.stop(errCancelled)
	}
	m.mu.Unlock()
	select {
	case <-e.ended:
	case <-ctx.Done():
		return Job{}, context.Cause(ctx)
	}
	return m.Get(id)
}

// look wakes the loop.
func (m *Manager) look() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *Manager) loop(ctx context.Context) {
	defer close(m.done)
	for ctx.Err() == nil {
		e, waits := m.next()
		if e != nil {
			m.run(ctx, e)
			continue
		}
		var again <-chan time.Time
		if waits {
			again = time.After(lookEvery)
		}
		select {
		case <-m.wake:
		case <-again:
		case <-ctx.Done():
		}
	}
}

// next is the job whose turn it is, nil if there is none; waits reports that one has to wait.
func (m *Manager) next() (_ *entry, waits bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.entries {
		if e.Status == Queued {
			if m.opts.Busy() {
				return nil, true
			}
			return e, false
		}
	}
	return nil, false
}

// run does the work of a job that was queued.
func (m *Manager) run(ctx context.Context, e *entry) {
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	m.mu.Lock()
	if e.Status != Queued { // it was cancelled in between
		m.mu.Unlock()
		return
	}
	at := now()
	e.Status, e.StartedAt, e.stop = Running, &at, stop
	m.save()
	m.mu.Unlock()
	go m.yield(work, stop)
	links, err := e.work(work, func(ctx context.Context, args ...string) (json.RawMessage, error) {
		m.show(e, nil)
		return m.call(ctx, args, func(p Progress) { m.show(e, &p) })
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() {
		m.save()
		m.opts.Logger.Info("a job was at work", "job_id", e.ID, "kind", e.Kind, "status", e.Status)
	}()
	e.Links = e.Links.with(links)
	e.Reports = append([]json.RawMessage{}, links.Reports...)
	var refused *LabError
	switch cause := context.Cause(work); {
	case err == nil:
		m.end(e, Completed, nil)
	case e.cancelled:
		m.end(e, Cancelled, nil)
	case errors.Is(cause, errYield):
		e.Status, e.StartedAt, e.Progress = Queued, nil, nil
	case cause != nil:
		m.end(e, Interrupted, nil)
	case errors.As(err, &refused):
		m.end(e, Failed, refused.failure())
	default:
		m.end(e, Failed, &Failure{Code: CodeFailed, Message: err.Error()})
	}
}

// maxDetails is how much of a refusal is kept.
const maxDetails = 8 << 10

func (e *LabError) failure() *Failure {
	f := &Failure{Code: e.Code, Message: e.Message}
	if len(e.Details) <= maxDetails {
		f.Details = e.Details
	}
	return f
}

// yield ends the work as soon as real money is traded.
func (m *Manager) yield(work context.Context, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-work.Done():
			return
		case <-ticker.C:
			if m.opts.Busy() {
				stop(errYield)
			}
		}
	}
}

// with adds the links that are given.
func (l Links) with(more Links) Links {
	for _, p := range []struct{ to, from **string }{{&l.RunID, &more.RunID},
		{&l.Falsification, &more.Falsification}, {&l.PlanID, &more.PlanID}} {
		if *p.from != nil {
			*p.to = *p.from
		}
	}
	return l
}

func (m *Manager) show(e *entry, p *Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.Progress = p
}

// end gives a job its last status. The caller holds m.mu, or nobody else has the job yet.
func (m *Manager) end(e *entry, s Status, why *Failure) {
	at := now()
	e.Status, e.EndedAt, e.Error, e.work, e.stop = s, &at, why, nil, nil
	close(e.ended)
}

// save keeps the list. The caller holds m.mu. Without the list the jobs run all the same.
func (m *Manager) save() {
	jobs := make([]Job, len(m.entries))
	for i, e := range m.entries {
		jobs[i] = e.Job
	}
	if err := writeList(m.opts.StateDir, jobs); err != nil {
		m.opts.Logger.Error("the list of jobs cannot be kept", "error", err)
	}
}

func now() market.Time { return market.FromTime(time.Now()) }

// Call calls the lab beside the queue, for what is short.
func (m *Manager) Call(ctx context.Context, args ...string) (json.RawMessage, error) {
	return m.call(ctx, args, func(Progress) {})
}

func (m *Manager) call(ctx context.Context, args []string, tell func(Progress)) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	out, progress := &limited{}, &lines{tell: tell}
	cmd := exec.Command(m.opts.Program, slices.Concat(args, m.opts.Args, []string{"--json"})...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.opts.StateDir, out, progress
	cmd.Env = append(os.Environ(), m.opts.Env...)
	m.opts.Logger.Debug("the lab is called", "arguments", args)
	if err := proc.RunTool(ctx, cmd, endGrace); err != nil {
		return nil, err
	}
	result, err := decodeAnswer(out.Bytes())
	var refused *LabError
	if errors.As(err, &refused) && refused.Code == CodeFailed {
		refused.Message = strings.TrimSuffix(fmt.Sprintf("%s (%s): %s", refused.Message, cmd.ProcessState,
			progress.last), ": ")
	}
	return result, err
}

// limited is a buffer that takes no more than an answer can have.
type limited struct{ bytes.Buffer }

// Write implements io.Writer.
func (l *limited) Write(b []byte) (int, error) {
	l.Buffer.Write(b[:min(len(b), max(0, maxAnswer-l.Len()))])
	return len(b), nil
}

// lines reads stderr line by line: progress is told, of the rest the last line is kept.
type lines struct {
	tell func(Progress)
	part []byte
	last string
}

// maxLine is how much of a line is read.
const maxLine = 1 << 10

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		l.part = append(l.part, line[:min(len(line), maxLine-len(l.part))]...)
		rest = after
		if !whole {
			break
		}
		if p, ok := decodeProgress(l.part); ok {
			l.tell(p)
		} else if len(l.part) > 0 {
			l.last = string(bytes.ToValidUTF8(l.part, []byte("?")))
		}
		l.part = l.part[:0]
	}
	return len(b), nil
}
