package queue

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/lab/request"
)

// TestManyWorkers brings trials to their results by a server and 200 workers that answer with files as large
// as those of a trial and play nothing: what the queue itself costs, step by step. Everything is in this
// process; ASSAY_MINUTES says for how long, at most a million trials.
func TestManyWorkers(t *testing.T) {
	ring.Long(t, "it goes on for minutes")
	ring.Alone(t, "it measures what a trial costs")
	const workers, most = 200, 1_000_000
	store := t.TempDir()
	server, err := Serve(ServeOptions{Listen: "127.0.0.1:0", Dir: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	l, key := connect(t, server), newKey(t)
	s := submitting(t, l, anEpoch, key)
	s.files = map[string]string{}
	if err := s.equip(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var staff sync.WaitGroup
	defer staff.Wait()
	defer cancel()
	s.done.Go(func() { s.live(ctx) })
	s.done.Go(func() { s.recheck(ctx) })
	for i := range workers {
		staff.Go(func() { // all at once
			own, err := Connect(ctx, server.URL(), ConnectOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			defer own.Close()
			simulateWorker(ctx, t, own, fmt.Sprint("w", i), key)
		})
	}
	end := time.Now().Add(time.Duration(ring.Minutes()) * time.Minute)
	var done int
	var mu sync.Mutex
	trials := make(chan int)
	var asking sync.WaitGroup
	for range 2 * workers {
		asking.Go(func() {
			for n := range trials {
				p := &request.Prepared{RunID: runOf(n), RequestHash: aSum}
				p.Request.Params = json.RawMessage("{}")
				files, err := s.Play(ctx, p, request.Errand{Attempt: 1, Plan: request.Plan{ID: aPlan,
					Index: int64(n)}})
				if err != nil || len(files) == 0 {
					t.Errorf("trial %d: %v", n, err)
				}
				mu.Lock()
				done++
				mu.Unlock()
			}
		})
	}
	began, step, at, before := time.Now(), 2000, time.Now(), cpu(t)
	for n := range most {
		if time.Now().After(end) {
			break
		}
		trials <- n
		if (n+1)%step == 0 {
			now := cpu(t)
			t.Logf("%7d trials: %4.0f a second, %.2f CPU-ms each, %d MiB in the server's folder", n+1,
				float64(step)/time.Since(at).Seconds(),
				float64((now-before).Microseconds())/1000/float64(step),
				sizeOf(t, store)>>20)
			at, before = time.Now(), now
		}
	}
	close(trials)
	asking.Wait()
	t.Logf("%d trials in %s by %d workers", done, time.Since(began).Round(time.Second), workers)
	if info, err := l.tasks.Info(t.Context()); err != nil || info.State.Msgs > workers {
		t.Errorf("tasks are left: %v %v", info.State.Msgs, err)
	}
}

// sizeOf is how many bytes the files of a folder have, some of which may go meanwhile.
func sizeOf(t *testing.T, dir string) (size int64) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}

// Two submitters share the slots, whoever came first; a third one, who has nothing to play, takes no time.
func TestOwnersShareWorkers(t *testing.T) {
	_, l := serveTest(t)
	keys := []*ecdsa.PrivateKey{newKey(t), newKey(t), newKey(t)}
	epochs := []string{strings.Repeat("a", 16), strings.Repeat("b", 16)}
	trials := []int{60, 10}
	w := &worker{Link: l, kept: t.TempDir(), doing: map[int]Doing{}, benches: map[string]*bench{},
		WorkOptions: WorkOptions{ID: "one", Workers: 2, Engine: artifact.Engine{SHA256: aSum},
			LostAfter: DefaultLostAfter, Logger: hclog.NewNullLogger()}}
	for _, key := range keys {
		w.Allow = append(w.Allow, &key.PublicKey)
	}
	var mu sync.Mutex
	played := map[string]int{}
	var asking sync.WaitGroup
	for i, epoch := range epochs {
		s := submitting(t, l, epoch, keys[i])
		ready := &bench{job: aJob(), play: func(_ context.Context, task *Task) (map[string][]byte, error) {
			mu.Lock()
			defer mu.Unlock()
			if played[epoch]++; epoch == epochs[1] && played[epoch] == trials[1] && played[epochs[0]] > 25 {
				t.Errorf("the second submitter had to wait for %d trials of the first", played[epochs[0]])
			}
			return map[string][]byte{"report.json": []byte(task.ID)}, nil
		}}
		ready.once.Do(func() {})
		w.benches[epoch] = ready
		for n := range trials[i] {
			asking.Go(func() {
				p := &request.Prepared{RunID: runOf(n), RequestHash: aSum}
				p.Request.Params = json.RawMessage("{}")
				if _, err := s.Play(t.Context(), p, request.Errand{Attempt: 1,
					Plan: request.Plan{ID: aPlan}}); err != nil {
					t.Error(err)
				}
			})
		}
		for info, err := l.tasks.Info(t.Context()); ; info, err = l.tasks.Info(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if info.State.NumSubjects >= uint64(trials[0]+i*trials[1]) {
				break
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var slots sync.WaitGroup
	for slot := range w.Workers {
		slots.Go(func() { w.serve(ctx, slot) })
	}
	asking.Wait()
	cancel()
	slots.Wait()
	if played[epochs[0]] != trials[0] || played[epochs[1]] != trials[1] {
		t.Error(played)
	}
}

// runOf is a run id.
func runOf(n int) string {
	var b [10]byte
	binary.BigEndian.PutUint64(b[2:], uint64(n))
	return "run_" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// simulateWorker is a worker of one slot whose trials take no time.
func simulateWorker(ctx context.Context, t *testing.T, l *Link, id string, key *ecdsa.PrivateKey) {
	w := &worker{Link: l, kept: t.TempDir(), doing: map[int]Doing{},
		WorkOptions: WorkOptions{ID: id, Workers: 1, Allow: []*ecdsa.PublicKey{&key.PublicKey},
			Engine: artifact.Engine{SHA256: aSum}, LostAfter: DefaultLostAfter,
			Logger: hclog.NewNullLogger()}}
	noise := make([]byte, 50<<10)
	_, _ = rand.Read(noise) // it never fails
	ready := &bench{job: aJob(), play: func(_ context.Context, task *Task) (map[string][]byte, error) {
		// Half of it repeats itself, as in real files.
		text := append(noise[:len(noise):len(noise)], make([]byte, 50<<10)...)
		return map[string][]byte{"report.json": append(strconv.AppendInt(nil, task.Trial, 10), text...)}, nil
	}}
	ready.once.Do(func() {})
	w.benches = map[string]*bench{anEpoch: ready}
	var both sync.WaitGroup
	both.Go(func() { w.report(ctx) })
	w.serve(ctx, 0)
	both.Wait()
}
