package queue

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/lab/request"
)

// Submission is what a coordinator lets workers play: the trials of a search, or replays of its root.
type Submission struct {
	Host *request.Host
	// Root is the request whose parameters and windows the trials vary.
	Root         *request.Prepared
	Slug, PlanID string
	Key          crypto.Signer
	// Least is how many tasks are to be out at least; 64 if 0.
	Least  int
	Logger hclog.Logger
}

// Submitter is the coordinator of one execution of a search: a request.Player.
type Submitter struct {
	link   *Link
	logger hclog.Logger
	job    *Job
	signer string // the id of its key
	sealed []byte
	prefix string            // of the subjects of tasks
	files  map[string]string // paths of what workers need, by hash
	root   string            // the hash of the root

	least, out atomic.Int64
	replays    atomic.Int64 // that were asked for
	doubt      atomic.Bool  // the server may have lost something
	end        context.CancelFunc
	done       sync.WaitGroup

	mu      sync.Mutex
	waiting map[string]*errand // by id
	spent   []string           // files of replays that have ended, the oldest first
	broken  error              // no trial is played any more
}

// errand is a trial that is out.
type errand struct {
	task    *Task
	files   map[string]string // paths of what it needs besides those of the job, by hash
	subject string
	text    []byte
	result  chan *Result // one place
	why     string       // the last trouble of a worker
	checked time.Time    // by recheck alone, once it is out
}

// Submit publishes the job of a search. Close must be called.
func Submit(ctx context.Context, l *Link, in Submission) (_ *Submitter, err error) {
	supplies, files, err := request.SuppliesOf(ctx, in.Host, in.Root)
	if err != nil {
		return nil, err
	}
	var epoch [8]byte
	_, _ = rand.Read(epoch[:]) // it never fails
	job := &Job{Schema: jobSchema, Epoch: hex.EncodeToString(epoch[:]), Slug: in.Slug, PlanID: in.PlanID,
		Engine: in.Host.Engine.SHA256, Supplies: *supplies}
	s := &Submitter{link: l, logger: in.Logger, job: job, waiting: map[string]*errand{}}
	if s.sealed, err = sign(job, in.Key); err != nil {
		return nil, err
	}
	if s.signer, err = dsse.KeyID(in.Key.Public()); err != nil {
		return nil, err
	}
	s.prefix = subjectOf(job.Engine, s.signer) + "." + job.Epoch + "."
	s.files, s.root = files, in.Root.RequestHash
	s.least.Store(int64(cmp.Or(in.Least, minOut)))
	if err := s.equip(ctx); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	s.survey(ctx)
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	s.end = end
	if err := s.listen(work); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.done.Go(func() { s.live(work) })
	s.done.Go(func() { s.recheck(work) })
	return s, nil
}

// equip puts onto the server what workers need, unless it is there.
func (s *Submitter) equip(ctx context.Context) error {
	if err := s.supply(ctx, s.files); err != nil {
		return err
	}
	for _, e := range s.errands() {
		if err := s.supply(ctx, e.files); err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have ended
			return err
		}
	}
	_, err := s.link.jobs.Put(ctx, s.job.Epoch, s.sealed)
	return err
}

// supply puts files onto the server that are not there.
func (s *Submitter) supply(ctx context.Context, files map[string]string) error {
	for sum, path := range files {
		if err := s.link.putFile(ctx, sum, path); err != nil {
			return err
		}
	}
	return nil
}

// subjectOf is where the tasks for one engine by one submitter are.
func subjectOf(engine, signer string) string { return taskPrefix + engine[:16] + "." + signer[:16] }

// listen follows the results of this epoch and the advisories about its tasks.
func (s *Submitter) listen(ctx context.Context) error {
	results, err := s.link.results.Watch(ctx, s.job.Epoch+".>")
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	dead, err := s.link.dead.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverNewPolicy})
	if err != nil {
		return errors.Join(fmt.Errorf("queue: %w", err), results.Stop())
	}
	letters, err := dead.Messages()
	if err != nil {
		return errors.Join(fmt.Errorf("queue: %w", err), results.Stop())
	}
	s.done.Go(func() {
		defer func() { _ = results.Stop() }()
		for {
			select {
			case <-ctx.Done():
				return
			case e, open := <-results.Updates():
				if !open {
					return
				}
				if e != nil && e.Operation() == jetstream.KeyValuePut {
					s.take(e.Key(), e.Value())
				}
			}
		}
	})
	s.done.Go(func() {
		<-ctx.Done()
		letters.Stop()
	})
	s.done.Go(func() {
		for ctx.Err() == nil {
			m, err := letters.Next()
			if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
				return
			}
			if err != nil {
				pause(ctx, again)
				continue
			}
			if err := s.bury(ctx, m.Data()); err != nil {
				s.logger.Warn("an advisory of the queue is not used", "error", err)
			}
		}
	})
	return nil
}

// live keeps the job alive, and gives the server again what workers need.
func (s *Submitter) live(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.equip(ctx); err != nil {
			s.logger.Debug("the queue does not answer", "error", err)
			s.link.mend(ctx)
			s.doubt.Store(true)
		}
		pause(ctx, beat)
	}
}

// recheck asks for the results of trials that have been out for long, and submits again what the server does
// not have any more: soon where it was away. It is apart from live, whose job must not run out while many
// trials are out.
func (s *Submitter) recheck(ctx context.Context) {
	for seen := uint64(0); ctx.Err() == nil; pause(ctx, beat) {
		s.survey(ctx)
		patience := DefaultLostAfter
		if n := s.link.conn.Stats().Reconnects; s.doubt.Swap(false) || n != seen {
			seen, patience = n, 0
		}
		for id, e := range s.errands() {
			if time.Since(e.checked) < patience {
				continue
			}
			e.checked = time.Now()
			if entry, err := s.link.results.Get(ctx, id); err == nil {
				s.take(id, entry.Value())
			} else if !errors.Is(err, jetstream.ErrKeyNotFound) || s.publish(ctx, e) != nil {
				s.doubt.Store(true)
			}
		}
	}
}

// minOut is how many trials of a search are out at least, where its submission says nothing else.
const minOut = 64

// Out is how many trials are to be out at a time: each slot of the workers that there are has one to play and
// finds another one after it.
func (s *Submitter) Out() int { return int(max(s.least.Load(), s.out.Load())) }

// survey counts the slots that play for this submitter.
func (s *Submitter) survey(ctx context.Context) {
	view, err := s.link.Look(ctx)
	if err != nil {
		return // as many as before
	}
	slots := 0
	for _, w := range view.Workers {
		if w.Engine == s.job.Engine && slices.Contains(w.Allows, s.signer) {
			slots += w.Slots
		}
	}
	s.out.Store(int64(2 * slots))
}

// errands are the trials that are out.
func (s *Submitter) errands() map[string]*errand {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make(map[string]*errand, len(s.waiting))
	for id, e := range s.waiting {
		list[id] = e
	}
	return list
}

// publish puts a task into the queue unless it is there.
func (s *Submitter) publish(ctx context.Context, e *errand) error {
	_, err := s.link.js.Publish(ctx, e.subject, e.text, jetstream.WithExpectLastSequencePerSubject(0))
	var refused *jetstream.APIError
	if errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
		return nil
	}
	return err
}

// The ends of keys beside that of a result.
const (
	divergedEnd = ".diverged"
	whyEnd      = ".why"
)

// take is called with what stands in the bucket of results.
func (s *Submitter) take(key string, text []byte) {
	id, ending := key, ""
	for _, end := range []string{divergedEnd, whyEnd} {
		if rest, is := strings.CutSuffix(key, end); is {
			id, ending = rest, end
		}
	}
	if ending == whyEnd {
		s.mu.Lock()
		defer s.mu.Unlock()
		if e := s.waiting[id]; e != nil {
			e.why = fmt.Sprintf("%.500s", text)
			s.logger.Warn("a worker cannot play a trial", "trial", e.task.number(), "why", e.why)
		}
		return
	}
	r, err := DecodeResult(text)
	if err != nil {
		s.logger.Warn("a result from the queue is not used", "key", key, "error", err)
		return
	}
	if ending == divergedEnd {
		s.stop(request.Errorf(request.CodeTrialDiverged,
			"run %s went otherwise on worker %q than on the first one: the program or a machine is not "+
				"deterministic, and no number of this search can be trusted", r.RunID, r.Worker).
			With("run_id", r.RunID, "worker", r.Worker))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.waiting[id]; e != nil && e.task.RunID == r.RunID {
		select {
		case e.result <- r:
		default: // it has come already
		}
	}
}

// stop ends all trials with an error.
func (s *Submitter) stop(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return
	}
	s.broken = err
	for _, e := range s.waiting {
		select {
		case e.result <- nil:
		default:
		}
	}
}

// bury fails the trial that an advisory is about, if it is one of this epoch, and removes its message.
func (s *Submitter) bury(ctx context.Context, advisory []byte) error {
	l, err := decodeLost(advisory)
	if err != nil {
		return err
	}
	m, err := s.link.tasks.GetMsg(ctx, l.StreamSeq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil // it came to its end after all
	}
	if err != nil {
		return err
	}
	if !strings.HasPrefix(m.Subject, s.prefix) {
		return nil
	}
	for id, e := range s.errands() {
		if e.subject != m.Subject {
			continue
		}
		s.mu.Lock()
		why := e.why
		s.mu.Unlock()
		if why == "" {
			why = "each worker that had it went silent"
		}
		text, err := json.Marshal(&Result{Schema: resultSchema, RunID: e.task.RunID,
			Content: contentOf(nil), Code: request.CodeTrialLost, Message: fmt.Sprintf(
				"%s was given to workers %d times without an end: %s",
				e.task.number(), l.Deliveries, why)})
		if err != nil {
			return err
		}
		// A worker that was slow may be faster still.
		if _, err := s.link.results.Create(ctx, id, text); err != nil && !isTaken(err) {
			return err
		}
	}
	return s.link.tasks.DeleteMsg(ctx, l.StreamSeq)
}

func isTaken(err error) bool { return errors.Is(err, jetstream.ErrKeyExists) }

// Play lets a worker play a trial: a request.Player.
func (s *Submitter) Play(ctx context.Context, p *request.Prepared,
	e request.Errand) (map[string][]byte, error) {
	mode := "s"
	if e.Apart {
		mode = "a"
	}
	return s.ask(ctx, &Task{Schema: taskSchema, Epoch: s.job.Epoch, RunID: p.RunID,
		RequestHash: p.RequestHash, ID: fmt.Sprintf("%s.%s-%d%s", s.job.Epoch, p.RunID, e.Attempt, mode),
		Params: p.Request.Params, Windows: p.Request.Splits.First, PlanID: e.Plan.ID, Trial: e.Plan.Index,
		Attempt: e.Attempt, PostPeek: e.PostPeek, Apart: e.Apart}, nil)
}

// ask submits a task that needs files besides those of the job, and returns what it came to.
func (s *Submitter) ask(ctx context.Context, t *Task, files map[string]string) (map[string][]byte, error) {
	out, err := s.send(ctx, t, files)
	if err != nil {
		return nil, err
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, out.task.ID)
	}()
	for {
		var r *Result
		select {
		case <-ctx.Done():
			s.withdraw(ctx, out)
			return nil, context.Cause(ctx)
		case r = <-out.result:
		}
		if r == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			return nil, s.broken
		}
		if r.Code != "" {
			return nil, request.Errorf(r.Code, "%s", r.Message)
		}
		files, err := s.collect(ctx, r)
		if !errors.Is(err, errLost) {
			return files, err
		}
		s.logger.Warn("the server has lost the files of a trial, which is played again", "run_id", r.RunID)
		if err := s.resubmit(ctx, out); err != nil {
			return nil, err
		}
	}
}

// errLost is of a result whose files the server does not have: one that was killed may forget the last that
// it has taken.
var errLost = errors.New("the files of a result are lost")

// collect takes the files of a result off the server.
func (s *Submitter) collect(ctx context.Context, r *Result) (map[string][]byte, error) {
	for try := 0; ; try++ {
		files, err := s.link.getRun(ctx, r.Object)
		if err == nil {
			_ = s.link.runs.Delete(ctx, r.Object) // the bucket forgets it anyway
			return files, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		gone := errors.Is(err, jetstream.ErrObjectNotFound) || isDamaged(err)
		if gone && try >= 2 || try == 30 {
			return nil, errLost
		}
		pause(ctx, again)
	}
}

// resubmit takes a result back that is worth nothing and submits its trial again.
func (s *Submitter) resubmit(ctx context.Context, out *errand) error {
	for {
		err := s.link.results.Delete(ctx, out.task.ID)
		select {
		case <-out.result: // the same one, by another way
		default:
		}
		if err == nil {
			err = s.publish(ctx, out)
		}
		s.mu.Lock()
		broken := s.broken
		s.mu.Unlock()
		switch {
		case broken != nil:
			return broken
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		s.logger.Debug("the queue does not take a task", "error", err)
		pause(ctx, again/4)
	}
}

// send puts a trial into the queue, as long as it takes.
func (s *Submitter) send(ctx context.Context, t *Task, files map[string]string) (*errand, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	out := &errand{task: t, files: files, text: text,
		subject: s.prefix + strings.TrimPrefix(t.ID, s.job.Epoch+"."),
		result:  make(chan *Result, 1), checked: time.Now()}
	s.mu.Lock()
	if s.broken != nil {
		defer s.mu.Unlock()
		return nil, s.broken
	}
	s.waiting[t.ID] = out
	s.mu.Unlock()
	for {
		if err = s.supply(ctx, files); err == nil {
			err = s.publish(ctx, out)
		}
		if err == nil {
			return out, nil
		}
		if _, here := errors.AsType[*fs.PathError](err); here || ctx.Err() != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.waiting, t.ID)
			return nil, cmp.Or(context.Cause(ctx), err)
		}
		s.logger.Debug("the queue does not take a task", "error", err)
		pause(ctx, again/4)
	}
}

// withdraw takes a trial out of the queue that nobody waits for any more.
func (s *Submitter) withdraw(ctx context.Context, e *errand) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), again)
	defer cancel()
	_ = s.link.tasks.Purge(ctx, jetstream.WithPurgeSubject(e.subject)) // a worker drops it without its job
}

// Close takes the job back.
func (s *Submitter) Close() error {
	s.end()
	s.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s.remove(ctx, s.spent)
	err := s.link.jobs.Delete(ctx, s.job.Epoch)
	if s.link.conn.IsConnected() {
		return err
	}
	return nil // it ends by itself
}
