package queue

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/base/file"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/request"
)

// WorkOptions are those of a worker.
type WorkOptions struct {
	// Dir keeps files by their hashes from one search to the next, and what is played meanwhile.
	Dir string
	// ID is its name among the workers.
	ID string
	// Workers is how many trials are played side by side.
	Workers int
	// Allow are the keys of the submitters whose programs are executed.
	Allow     []*ecdsa.PublicKey
	Engine    artifact.Engine
	Sandbox   sandbox.Mode
	LostAfter time.Duration
	Logger    hclog.Logger
	// Played is called after each trial.
	Played func(d Doing, code string)
}

// worker plays trials.
type worker struct {
	*Link
	WorkOptions
	workdir *file.Workdir
	kept    string // files by their hashes

	mu      sync.Mutex
	benches map[string]*bench // by epoch
	doing   map[int]Doing     // by slot
	played  int
}

// bench is where the trials of one epoch are played.
type bench struct {
	once sync.Once
	err  error
	job  *Job
	host *request.Host
	root *request.Prepared

	play  func(context.Context, *Task) (map[string][]byte, error)
	users int // counted under the worker's lock

	sessions run.Sessions
	replays  replays
}

// Work plays trials until ctx ends, and counts them.
func Work(ctx context.Context, l *Link, o WorkOptions) (played int, err error) {
	w := &worker{Link: l, WorkOptions: o, kept: filepath.Join(o.Dir, "blobs"), benches: map[string]*bench{},
		doing: map[int]Doing{}}
	if err := os.MkdirAll(w.kept, 0o700); err != nil {
		return 0, err
	}
	if w.workdir, err = file.NewWorkdir(filepath.Join(o.Dir, "rooms")); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	var wg sync.WaitGroup
	wg.Go(func() { w.report(ctx) })
	for slot := range o.Workers {
		wg.Go(func() { w.serve(ctx, slot) })
	}
	wg.Wait()
	return w.played, nil
}

func (w *worker) close() error {
	var err error
	for _, b := range w.benches {
		err = errors.Join(err, b.close())
	}
	return errors.Join(err, w.workdir.Close())
}

// serve plays one trial after another.
func (w *worker) serve(ctx context.Context, slot int) {
	var from []jetstream.Consumer
	for next := slot; ctx.Err() == nil; next++ {
		if from == nil {
			var err error
			if from, err = w.consumers(ctx); err != nil {
				w.Logger.Debug("the queue does not answer", "error", err)
				w.mend(ctx)
				pause(ctx, again)
				continue
			}
		}
		wait := max(again, beat/time.Duration(len(from)))
		batch, err := w.pick(ctx, from, next).Fetch(1, jetstream.FetchMaxWait(wait))
		if err != nil {
			from = nil
			pause(ctx, again/4)
			continue
		}
		for open := true; open; {
			var m jetstream.Msg
			select {
			case m, open = <-batch.Messages():
				if open {
					w.handle(ctx, slot, m)
				}
			case <-ctx.Done():
				return
			}
		}
		if batch.Error() != nil {
			from = nil // the server may have lost them
		}
	}
}

// consumers are the queues of this engine, one for each submitter that is allowed. All workers share them.
func (w *worker) consumers(ctx context.Context) (list []jetstream.Consumer, err error) {
	for _, key := range w.Allow {
		signer, err := dsse.KeyID(key)
		if err != nil {
			return nil, err
		}
		c, err := w.tasks.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
			Durable:       w.Engine.SHA256[:16] + "-" + signer[:16],
			FilterSubject: subjectOf(w.Engine.SHA256, signer) + ".>",
			AckPolicy:     jetstream.AckExplicitPolicy, AckWait: w.LostAfter, MaxDeliver: MaxDeliveries,
			MaxAckPending: 100_000,
		})
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// pick is the queue that a slot takes from: of the submitters with trials that wait, the one who has the
// fewest under way, on all workers; in turn where nothing waits. So who comes later, or has shorter trials,
// gets as many slots as who was there.
func (w *worker) pick(ctx context.Context, from []jetstream.Consumer, turn int) jetstream.Consumer {
	best, least := from[turn%len(from)], -1
	for i := range from {
		if len(from) == 1 {
			break
		}
		c := from[(turn+i)%len(from)]
		info, err := c.Info(ctx)
		if err != nil {
			break // the one whose turn it is finds out
		}
		if info.NumPending > 0 && (least < 0 || info.NumAckPending < least) {
			best, least = c, info.NumAckPending
		}
	}
	return best
}

// backOff is how long a task rests that could not be played for the nth time.
func backOff(n uint64) time.Duration {
	return min(again<<min(n, 10), time.Minute)
}

// handle plays the trial of a message, which stays in the queue until its result is in.
func (w *worker) handle(ctx context.Context, slot int, m jetstream.Msg) {
	alive, stop := context.WithCancel(ctx)
	var beating sync.WaitGroup
	beating.Go(func() {
		for alive.Err() == nil {
			if pause(alive, w.LostAfter/3); alive.Err() == nil {
				_ = m.InProgress() // the next one may arrive
			}
		}
	})
	defer beating.Wait()
	defer stop()
	t, err := DecodeTask(m.Data())
	if err != nil {
		w.Logger.Warn("a task is dropped", "error", err)
		_ = m.Term()
		return
	}
	err = w.play(ctx, slot, t)
	var gone *goneError
	switch {
	case err == nil:
		_ = m.Ack() // else it is delivered again, and the result is there
	case ctx.Err() != nil:
		_ = m.Nak()
	case errors.As(err, &gone):
		w.Logger.Info("a task is dropped", "error", err)
		_ = m.Term()
	default:
		w.Logger.Warn("a trial cannot be played here", "run_id", t.RunID, "error", err)
		_, _ = w.results.PutString(ctx, t.ID+whyEnd, fmt.Sprintf("%s: %.400s", w.ID, err))
		n := uint64(1)
		if meta, err := m.Metadata(); err == nil {
			n = meta.NumDelivered
		}
		_ = m.NakWithDelay(backOff(n))
	}
	_ = w.conn.Flush()
}

// goneError is of a task that nobody may play.
type goneError struct{ why string }

func (e *goneError) Error() string { return e.why }

// play brings a task to its result. An error is no fault of the strategy.
func (w *worker) play(ctx context.Context, slot int, t *Task) error {
	if _, err := w.results.Get(ctx, t.ID); err == nil {
		return nil // whoever had it before came to its end
	}
	b, err := w.bench(ctx, t.Epoch)
	if err != nil {
		return err
	}
	defer w.release(b)
	d := Doing{Slug: b.job.Slug, PlanID: t.PlanID, Trial: t.Trial, Replay: t.Replay != nil,
		Since: time.Now().UTC()}
	w.note(slot, &d)
	defer w.note(slot, nil)
	r, err := w.perform(ctx, b, t)
	if err != nil {
		return err
	}
	if err := w.settle(ctx, t.ID, r); err != nil {
		return err
	}
	w.mu.Lock()
	w.played++
	w.mu.Unlock()
	if w.Played != nil {
		w.Played(d, r.Code)
	}
	return nil
}

// perform plays the trial and stores its files.
func (w *worker) perform(ctx context.Context, b *bench, t *Task) (*Result, error) {
	r := &Result{Schema: resultSchema, RunID: t.RunID, Worker: w.ID}
	files, err := b.play(ctx, t)
	if refused, is := errors.AsType[*request.Error](err); is && request.Refuses(refused.Code) {
		r.Code, r.Message = refused.Code, refused.Message
		r.Content = digest.SHA256Hex([]byte(r.Code))
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	r.Content = contentOf(files)
	r.Object, err = w.putRun(ctx, files)
	return r, err
}

// settle enters a result if it is the first. Another one stays and is compared.
func (w *worker) settle(ctx context.Context, id string, r *Result) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = w.results.Create(ctx, id, text)
	if !isTaken(err) {
		return err
	}
	entry, err := w.results.Get(ctx, id)
	if err != nil {
		return err
	}
	first, err := DecodeResult(entry.Value())
	if err != nil {
		return err
	}
	if first.Content == r.Content || first.Code == request.CodeTrialLost {
		return nil
	}
	_, err = w.results.Put(ctx, id+divergedEnd, text)
	return err
}

// bench opens the job of an epoch, or finds it open. The caller releases it.
func (w *worker) bench(ctx context.Context, epoch string) (*bench, error) {
	w.mu.Lock()
	b := w.benches[epoch]
	if b == nil {
		b = &bench{}
		w.benches[epoch] = b
	}
	b.users++
	w.mu.Unlock()
	b.once.Do(func() { b.err = w.equip(ctx, b, epoch) })
	if b.err == nil {
		return b, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.benches[epoch] == b {
		delete(w.benches, epoch) // the next task tries again
	}
	return nil, b.err
}

func (w *worker) release(b *bench) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b.users--
}

func (w *worker) equip(ctx context.Context, b *bench, epoch string) error {
	entry, err := w.jobs.Get(ctx, epoch)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return &goneError{"its coordinator is gone"}
	}
	if err != nil {
		return err
	}
	if b.job, err = OpenJob(entry.Value(), w.Allow...); err != nil {
		return &goneError{err.Error()}
	}
	if b.job.Epoch != epoch || b.job.Engine != w.Engine.SHA256 {
		return &goneError{"its job is that of another search or engine"}
	}
	if s := &b.job.Supplies; s.Bundle {
		if err := w.getBundle(ctx, s.Request.Plugin.SHA256, s.BundleIn(w.kept)); err != nil {
			return err
		}
	}
	for _, sum := range b.job.Supplies.Files() {
		if err := w.getFile(ctx, sum, w.kept); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp(w.workdir.Dir(), epoch+"-")
	if err != nil {
		return err
	}
	b.play = func(ctx context.Context, t *Task) (map[string][]byte, error) {
		if t.Replay != nil {
			return b.replay(ctx, w, t)
		}
		return b.perform(ctx, t)
	}
	b.host, b.root, err = request.Equip(ctx, request.Equipment{Dir: dir, Blobs: w.kept, Engine: w.Engine,
		Sandbox: w.Sandbox, Logger: w.Logger}, &b.job.Supplies)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return nil
}

// perform plays one trial on a bench.
func (b *bench) perform(ctx context.Context, t *Task) (map[string][]byte, error) {
	host := *b.host
	if !t.Apart {
		s := b.sessions.Take()
		defer b.sessions.Put(s)
		host.Session = s
	}
	p, err := host.WithOverrides(b.root, func(q *request.Request) {
		q.Params = t.Params
		q.Splits.First = t.Windows
	})
	if err != nil {
		return nil, err
	}
	if err := t.isOf(p); err != nil {
		return nil, err
	}
	return request.Perform(ctx, &host, p, request.Errand{Attempt: t.Attempt, PostPeek: t.PostPeek,
		Apart: t.Apart, Plan: request.Plan{ID: t.PlanID, Index: t.Trial}})
}

func (b *bench) close() error {
	if b.root == nil {
		return nil
	}
	err := errors.Join(b.sessions.Close(), b.replays.close())
	b.root.Close()
	return errors.Join(err, b.host.Candles.Close(), os.RemoveAll(b.host.StateDir))
}

// tidy closes the benches of searches that are over.
func (w *worker) tidy(ctx context.Context) {
	w.mu.Lock()
	epochs := make([]string, 0, len(w.benches))
	for epoch, b := range w.benches {
		if b.users == 0 {
			epochs = append(epochs, epoch)
		}
	}
	w.mu.Unlock()
	for _, epoch := range epochs {
		if _, err := w.jobs.Get(ctx, epoch); !errors.Is(err, jetstream.ErrKeyNotFound) {
			continue
		}
		w.mu.Lock()
		b := w.benches[epoch]
		idle := b != nil && b.users == 0
		if idle {
			delete(w.benches, epoch)
		}
		w.mu.Unlock()
		if idle {
			if err := b.close(); err != nil {
				w.Logger.Warn("a search is not tidied up", "error", err)
			}
		}
	}
}

// note says what a slot does; nil: nothing.
func (w *worker) note(slot int, d *Doing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d == nil {
		delete(w.doing, slot)
		return
	}
	w.doing[slot] = *d
}

// report says who it is and what it does, again and again.
func (w *worker) report(ctx context.Context) {
	for ctx.Err() == nil {
		text, err := json.Marshal(w.state())
		if err == nil {
			_, err = w.workers.Put(ctx, w.ID, text)
		}
		if err != nil && ctx.Err() == nil {
			w.Logger.Debug("the queue does not answer", "error", err)
		}
		w.tidy(ctx)
		pause(ctx, beat)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), again)
	defer cancel()
	_ = w.workers.Delete(ctx, w.ID) // it ends by itself
}

func (w *worker) state() *State {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &State{Schema: stateSchema, ID: w.ID, Engine: w.Engine.SHA256, Slots: w.Workers, Played: w.played,
		Doing: []Doing{}}
	for slot := range w.Workers {
		if d, busy := w.doing[slot]; busy {
			s.Doing = append(s.Doing, d)
		}
	}
	for _, key := range w.Allow {
		if id, err := dsse.KeyID(key); err == nil {
			s.Allows = append(s.Allows, id)
		}
	}
	slices.Sort(s.Allows)
	return s
}
