package cmd_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
)

// TestQueueUnderFire: workers, coordinator and server are killed while a search goes on, each when a random
// number of its trials has come in; the search ends with the bytes of one that nobody disturbed. Clocks only
// decide who plays a trial.
func TestQueueUnderFire(t *testing.T) {
	ring.Proof(t, "it kills and starts many processes")
	trials := ring.Size(8, 16, 1000)
	dir := makeSearched(t, fmt.Sprintf(`{"space": {"mode": {"type": "choice", "values": ["fade", "follow"]},
		"calm": {"type": "bool"}, "period": {"type": "int", "low": 3, "high": 500}}, "method": "sobol",
		"max_trials": %d}`, trials))
	alone := planned(t, dir)
	if code, out := searching(t.Context(), t, dir, alone, io.Discard, "family", "run", "choosy"); code != 0 {
		t.Fatal(code, out)
	}
	want := everything(t, alone)
	for seed := range uint64(ring.Size(1, 1, 10)) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) { underFire(t, dir, want, trials, seed) })
	}
}

// fire is a search whose parts are killed.
type fire struct {
	dir, state, key, listen, store string
	server, coordinator            *process
	workers                        []*process
	dirs                           []string
}

func underFire(t *testing.T, dir string, want map[string]string, trials int, seed uint64) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fire{dir: dir, state: planned(t, dir), key: signKeys(t), listen: free.Addr().String(),
		store: t.TempDir()}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	f.serve(t)
	for range 2 {
		f.dirs = append(f.dirs, t.TempDir())
		f.workers = append(f.workers, nil)
		f.work(t, len(f.workers)-1)
	}
	f.coordinate(t)
	began, kills := time.Now(), [3]int{}
	random := rand.New(rand.NewPCG(seed, 22))
	victims := []int{0, 1, 2}
	for range ring.Size(0, 0, 37) {
		victims = append(victims, random.IntN(3))
	}
	random.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	for n, victim := range victims {
		from, to := n*trials/len(victims), (n+1)*trials/len(victims)
		if !f.await(t, from+random.IntN(max(1, to-from))) {
			t.Logf("the search was over after %d of %d kills", n, len(victims))
			break
		}
		kills[victim]++
		switch victim {
		case 0:
			i := random.IntN(len(f.workers))
			f.workers[i].kill()
			f.work(t, i)
		case 1:
			f.coordinator.kill()
			f.coordinate(t)
		case 2:
			f.server.kill()
			f.serve(t)
		}
	}
	f.await(t, 1<<30)
	if code := f.coordinator.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("exit %d:\n%s", code, f.coordinator.output)
	}
	compareAll(t, unattempted(want), unattempted(everything(t, f.state)))
	for _, p := range append(f.workers, f.server) {
		p.kill()
	}
	f.nothingRuns(t)
	t.Logf("%d trials in %s, killed: a worker %d times, the coordinator %d, the server %d", trials,
		time.Since(began).Round(time.Second), kills[0], kills[1], kills[2])
	ring.Count(t, "kills in searches over a queue", kills[0]+kills[1]+kills[2], len(victims)/2)
	ring.Count(t, "trials of searches under fire", trials, trials)
}

func (f *fire) url() string { return "nats://" + f.listen }

func (f *fire) serve(t *testing.T) {
	f.server = startLab(t, "queue", "serve", "--listen", f.listen, "--folder", f.store)
	f.says(t, f.server, "the queue is at")
}

func (f *fire) work(t *testing.T, i int) {
	for range 100 { // the server may be on its way
		p := startWorker(t, f.dirs[i], f.url(), f.key)
		f.workers[i] = p
		if f.says(t, p, "plays 1 trials") {
			return
		}
	}
	t.Fatalf("a worker does not start: %s", f.workers[i].output)
}

func (f *fire) coordinate(t *testing.T) {
	f.coordinator = startLab(t, "family", "run", "choosy", "--on", f.url(), "--sign-key", f.key, "--dir",
		f.dir, "--state-dir", f.state, "--sandbox", "off")
}

// says waits until a process says something, and reports whether it has before it ended.
func (f *fire) says(t *testing.T, p *process, what string) bool {
	t.Helper()
	for range 60_000 {
		if strings.Contains(p.output.String(), what) {
			return true
		}
		if p.over() {
			return strings.Contains(p.output.String(), what)
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("it never said %q: %s", what, p.output)
	return false
}

// await waits until so many trials have come in; false if the search is over before.
func (f *fire) await(t *testing.T, n int) bool {
	t.Helper()
	for range 120_000 {
		files, _ := filepath.Glob(filepath.Join(f.state, "families", "choosy", "*", "progress.jsonl"))
		if len(files) == 1 {
			if text, err := os.ReadFile(files[0]); err == nil && bytes.Count(text, []byte("\n")) > n {
				return true
			}
		}
		if f.coordinator.over() {
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("the search does not go on:\n%s\n%s", f.coordinator.output, f.workers[0].output)
	return false
}

// nothingRuns wants that no program of a worker is left.
func (f *fire) nothingRuns(t *testing.T) {
	t.Helper()
	var left []string
	for range 1000 {
		left = nil
		links, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, link := range links {
			path, _ := os.Readlink(link)
			for _, dir := range append(f.dirs, f.state) {
				if strings.HasPrefix(path, dir) {
					left = append(left, link+" "+path)
				}
			}
		}
		if len(left) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("processes are left: %v", left)
}

// attempts are what a coordinator that was killed leaves besides times: that trials were begun before, and
// halves of their folders.
var attempts = regexp.MustCompile(`"attempt": ?[0-9]+|'trial','(completed|failed)','[0-9]+'`)

func unattempted(all map[string]string) map[string]string {
	out := map[string]string{}
	for name, text := range all {
		if strings.HasPrefix(name, filepath.Join("runs", ".orphan")) {
			continue // what was being written
		}
		out[name] = attempts.ReplaceAllString(text, "*$1")
	}
	return out
}
