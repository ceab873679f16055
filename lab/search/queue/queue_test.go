package queue

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/base/dsse"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/lab/request"
)

// serveTest starts a server and connects to it.
func serveTest(t *testing.T) (*Server, *Link) {
	t.Helper()
	s, err := Serve(ServeOptions{Listen: "127.0.0.1:0", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, connect(t, s)
}

func connect(t *testing.T, s *Server) *Link {
	t.Helper()
	l, err := Connect(t.Context(), s.URL(), ConnectOptions{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// submitting is a submitter of a job without files, as Submit makes it.
func submitting(t *testing.T, l *Link, epoch string, key *ecdsa.PrivateKey) *Submitter {
	t.Helper()
	job := aJob()
	job.Epoch = epoch
	signer, err := dsse.KeyID(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	s := &Submitter{link: l, signer: signer, logger: hclog.NewNullLogger(), job: job,
		waiting: map[string]*errand{}, prefix: subjectOf(job.Engine, signer) + "." + epoch + "."}
	if s.sealed, err = sign(job, key); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	s.end = end
	if err := s.listen(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// asked is a trial that is played in the background.
func asked(t *testing.T, s *Submitter) <-chan error {
	t.Helper()
	p := &request.Prepared{RunID: aRun, RequestHash: aSum}
	p.Request.Params = json.RawMessage("{}")
	back := make(chan error, 1)
	go func() {
		_, err := s.Play(t.Context(), p, request.Errand{Attempt: 1, Plan: request.Plan{ID: aPlan}})
		back <- err
	}()
	for range 10_000 {
		if info, err := s.link.tasks.Info(t.Context()); err == nil && info.State.Msgs > 0 {
			return back
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("no task in the queue")
	return nil
}

func codeOf(err error) string {
	e, _ := errors.AsType[*request.Error](err)
	if e == nil {
		return ""
	}
	return e.Code
}

// The first result stands; an equal one changes nothing, another one ends the search.
func TestFirstResultWins(t *testing.T) {
	_, l := serveTest(t)
	s := submitting(t, l, anEpoch, newKey(t))
	back := asked(t, s)
	w := &worker{Link: l, WorkOptions: WorkOptions{ID: "two"}}
	id := anEpoch + "." + aRun + "-1s"
	files := map[string][]byte{"report.json": []byte("1"), "metadata.json": []byte("by one")}
	object, err := l.putRun(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	first := &Result{Schema: resultSchema, RunID: aRun, Worker: "one", Content: contentOf(files),
		Object: object}
	if err := w.settle(t.Context(), id, first); err != nil {
		t.Fatal(err)
	}
	if err := <-back; err != nil {
		t.Fatal(err)
	}
	same := *first
	same.Worker = "two"
	if err := w.settle(t.Context(), id, &same); err != nil {
		t.Fatal(err)
	}
	entry, err := l.results.Get(t.Context(), id)
	if err != nil || !strings.Contains(string(entry.Value()), `"worker":"one"`) {
		t.Fatalf("%s %v", entry.Value(), err)
	}
	other := *first
	other.Worker, other.Content = "three", digest.SHA256Hex([]byte("else"))
	if err := w.settle(t.Context(), id, &other); err != nil {
		t.Fatal(err)
	}
	p := &request.Prepared{RunID: strings.Replace(aRun, "g", "h", 1), RequestHash: aSum}
	p.Request.Params = json.RawMessage("{}")
	_, err = s.Play(t.Context(), p, request.Errand{Attempt: 1, Plan: request.Plan{ID: aPlan}})
	if codeOf(err) != request.CodeTrialDiverged || !strings.Contains(err.Error(), `"three"`) {
		t.Error(err)
	}
}

// A result of another coordinator of the same search is none of this one's.
func TestCoordinatorsDoNotMix(t *testing.T) {
	_, l := serveTest(t)
	key := newKey(t)
	mine := submitting(t, l, anEpoch, key)
	back := asked(t, mine)
	w := &worker{Link: l, WorkOptions: WorkOptions{ID: "one"}}
	refusal := &Result{Schema: resultSchema, RunID: aRun, Worker: "one", Content: aSum, Code: "RUN_FAILED",
		Message: "mine"}
	theirs := *refusal
	theirs.Message = "theirs"
	if err := w.settle(t.Context(), strings.Repeat("f", 16)+"."+aRun+"-1s", &theirs); err != nil {
		t.Fatal(err)
	}
	if err := w.settle(t.Context(), anEpoch+"."+aRun+"-1s", refusal); err != nil {
		t.Fatal(err)
	}
	if err := <-back; codeOf(err) != "RUN_FAILED" || err.Error() != "mine" {
		t.Error(err)
	}
}

// A worker drops what its operator has not allowed, what nobody waits for and what is no task; a trial that
// no worker can play is given up with the reason.
func TestWhatAWorkerDoesNotPlay(t *testing.T) {
	_, l := serveTest(t)
	allowed := newKey(t)
	s := submitting(t, l, anEpoch, allowed)
	w := &worker{Link: l, kept: t.TempDir(), benches: map[string]*bench{}, doing: map[int]Doing{},
		WorkOptions: WorkOptions{ID: "one", Allow: []*ecdsa.PublicKey{&newKey(t).PublicKey},
			Engine: artifact.Engine{SHA256: aSum}, LostAfter: DefaultLostAfter,
			Logger: hclog.NewNullLogger()}}
	var gone *goneError
	if err := w.play(t.Context(), 0, aTask()); !errors.As(err, &gone) {
		t.Errorf("without a coordinator: %v", err)
	}
	if _, err := l.jobs.Put(t.Context(), anEpoch, s.sealed); err != nil {
		t.Fatal(err)
	}
	if err := w.play(t.Context(), 0, aTask()); !errors.As(err, &gone) ||
		!strings.Contains(err.Error(), "signed") {
		t.Errorf("by a stranger: %v", err)
	}
	w.Allow = []*ecdsa.PublicKey{&allowed.PublicKey}
	err := w.play(t.Context(), 0, aTask())
	if err == nil || errors.As(err, &gone) || !strings.Contains(err.Error(), "file abababababab") {
		t.Errorf("without the program: %v", err)
	}
	// The program is not what was signed.
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("another program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.putFile(t.Context(), aSum, path); err == nil || !strings.Contains(err.Error(), "not abab") {
		t.Errorf("it was stored: %v", err)
	}
	if _, err := l.blobs.PutBytes(t.Context(), aSum, []byte("another program")); err != nil {
		t.Fatal(err)
	}
	if err := w.play(t.Context(), 0, aTask()); err == nil ||
		!strings.Contains(err.Error(), "and is not used") {
		t.Errorf("another program: %v", err)
	}
	if _, err := os.Stat(filepath.Join(w.kept, aSum)); err == nil {
		t.Error("it was kept")
	}

	back := asked(t, s)
	if _, err := l.results.PutString(t.Context(), anEpoch+"."+aRun+"-1s"+whyEnd, "one: no room"); err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		if out := s.errands()[anEpoch+"."+aRun+"-1s"]; out != nil {
			s.mu.Lock()
			why := out.why
			s.mu.Unlock()
			if why != "" {
				break
			}
		}
		time.Sleep(time.Millisecond)
	}
	for range 2 { // an advisory that comes twice is about nothing the second time
		err := s.bury(t.Context(), []byte(`{"stream":"assay-tasks","stream_seq":1,"deliveries":20}`))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := <-back; codeOf(err) != request.CodeTrialLost || !strings.Contains(err.Error(), "no room") {
		t.Error(err)
	}
	if info, err := l.tasks.Info(t.Context()); err != nil || info.State.Msgs != 0 {
		t.Error("the task is still there", err)
	}
}

// A server that has lost everything gets the trials again that are out.
func TestTasksAreSubmittedAgain(t *testing.T) {
	_, l := serveTest(t)
	s := submitting(t, l, anEpoch, newKey(t))
	back := asked(t, s)
	if err := l.tasks.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range s.errands() {
		for range 2 { // the second finds the first
			if err := s.publish(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if info, err := l.tasks.Info(t.Context()); err != nil || info.State.Msgs != 1 {
		t.Error(info, err)
	}
	s.stop(errors.New("over"))
	if err := <-back; err == nil || err.Error() != "over" {
		t.Error(err)
	}
}

// A server that is killed may keep a result and forget its files: the trial is played again. One that comes
// back without its folder gets everything again.
func TestWhatAServerForgets(t *testing.T) {
	ring.Slow(t, "it waits until files are given up, and for a beat of the coordinator")
	_, l := serveTest(t)
	s := submitting(t, l, anEpoch, newKey(t))
	s.files = map[string]string{}
	back := asked(t, s)
	w := &worker{Link: l, WorkOptions: WorkOptions{ID: "one"}}
	id := anEpoch + "." + aRun + "-1s"
	tasks := func() uint64 {
		stream, err := l.js.Stream(t.Context(), tasksStream) // the coordinator uses its own meanwhile
		if err != nil {
			return 0
		}
		return stream.CachedInfo().State.Msgs
	}
	await := func(what string, is func() bool) {
		t.Helper()
		for range 10_000 {
			if is() {
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
		t.Fatal(what)
	}
	if err := l.tasks.Purge(t.Context()); err != nil { // it was played
		t.Fatal(err)
	}
	files := map[string][]byte{"report.json": []byte("1")}
	empty := &Result{Schema: resultSchema, RunID: aRun, Worker: "one", Content: contentOf(files),
		Object: aSum}
	if err := w.settle(t.Context(), id, empty); err != nil {
		t.Fatal(err)
	}
	await("it is not submitted again", func() bool { return tasks() == 1 })

	for _, name := range []string{tasksStream, "KV_" + resultBucket, "KV_" + jobsBucket} {
		if err := l.js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	s.done.Go(func() { s.live(t.Context()) })
	s.done.Go(func() { s.recheck(t.Context()) })
	await("it is not submitted to the new server", func() bool { return tasks() == 1 })
	object, err := l.putRun(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	full := *empty
	full.Object = object
	if err := w.settle(t.Context(), id, &full); err != nil {
		t.Fatal(err)
	}
	if err := <-back; err != nil {
		t.Error(err)
	}
}

// Whoever can reach a queue from elsewhere must show something, and no error shows it.
func TestAccess(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "token")
	if err := os.WriteFile(secret, []byte("very-secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []ServeOptions{
		{Listen: "0.0.0.0:0"}, {Listen: "nowhere"},
		{Listen: "127.0.0.1:0", TokenFile: filepath.Join(dir, "none")},
		{Listen: "127.0.0.1:0", NKeysFile: secret}, {Listen: "127.0.0.1:0", CA: secret},
	} {
		o.Dir = t.TempDir()
		if s, err := Serve(o); err == nil {
			s.Close()
			t.Errorf("%+v was served", o)
		} else if strings.Contains(err.Error(), "very-secret") {
			t.Error(err)
		}
	}
	s, err := Serve(ServeOptions{Listen: "127.0.0.1:0", Dir: t.TempDir(), TokenFile: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := Connect(t.Context(), s.URL(), ConnectOptions{TokenFile: secret})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := Connect(t.Context(), s.URL(), ConnectOptions{}); err == nil {
		t.Error("connected without the token")
	}
	withSecret := strings.Replace(s.URL(), "nats://", "nats://very-secret@", 1)
	if _, err := Connect(t.Context(), withSecret, ConnectOptions{}); err == nil ||
		strings.Contains(err.Error(), "very-secret") {
		t.Error(err)
	}
	if err := os.Chmod(secret, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Connect(t.Context(), s.URL(), ConnectOptions{TokenFile: secret}); err == nil ||
		!strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
}
