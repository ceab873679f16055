package python_test

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
)

// guest leaves behind what it can, and trades by what it finds.
const guest = `import ctypes, gc, os, signal, threading, time

import numpy as np

from assay import Buy, Close, Param, Quantity, Strategy

PLAYS = []


def linger():
    while True:
        time.sleep(0.01)


class Guest(Strategy):
    """Trades by what earlier plays have left."""

    kind: str = Param("clean")
    seed: int = Param(1)

    def start(self):
        PLAYS.append(self.kind)
        np.plays = getattr(np, "plays", 0) + 1
        Strategy.plays = getattr(Strategy, "plays", 0) + 1
        found = [f for d in (".", "/dev/shm") for f in os.listdir(d)]
        marks = [len(PLAYS) + len(found), np.plays, Strategy.plays, os.stat(".").st_mode & 0o777]
        marks.append(os.environ.get("MARK", ""))
        marks.append(sorted((k, v) for k, v in os.environ.items() if "SOCKET" not in k))
        marks.append([os.sys.argv, len(os.sys.orig_argv), len(os.sys.path), os.getcwd() in os.sys.path])
        marks.append([os.get_blocking(fd) for fd in (1, 2)])
        marks.append(threading.active_count())
        self.every = 2 + len(PLAYS) + len(found) + Strategy.plays
        self.marks = repr(marks)
        os.environ["MARK"] = "x"
        if self.kind == "files":
            for d in (".", "/dev/shm"):
                open(os.path.join(d, "left"), "w").write("x" * 1000)
            os.chmod(".", 0o711)
            os.set_blocking(1, False)
        if self.kind == "threads":
            threading.Thread(target=linger).start()
        if self.kind == "forks" and os.fork() == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                for d in (".", "/dev/shm"):
                    open(os.path.join(d, f"left{os.getpid()}"), "a").close()
                time.sleep(0.001)

    def on_candle(self, v):
        if v.index == 0:
            v.log("marks", marks=self.marks)
        if v.index == 700:
            if self.kind == "raises":
                raise ValueError("no more")
            if self.kind == "exits":
                os._exit(3)
            if self.kind == "aborts":
                os.abort()
            if self.kind == "hangs":
                linger()
            if self.kind == "grows":
                self.all = [np.empty(1 << 22) for _ in range(200)]
            if self.kind == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.kind == "kills":
                os.kill(os.getppid(), signal.SIGKILL)  # the sandbox's first process cannot be killed
        if v.index % self.every:
            return None
        return Buy(Quantity(0.01)) if v.flat else Close()

    def stop(self, v):
        print(f"{self.kind} is over", flush=True)
        if self.kind == "atexit":
            import atexit

            atexit.register(linger)
`

// TestForks: plays in copies of one process are those of processes of their own, and nothing that one leaves
// reaches the next.
func TestForks(t *testing.T) {
	ring.Proof(t, "it copies an interpreter and starts some fifty of them")
	l := played(t, "guest", "strategy:Guest", guest)
	l.StepLimit = 5 * time.Second
	leaves := map[string]bool{"files": true, "threads": true, "forks": true}
	for _, first := range []string{"clean", "files", "threads", "forks", "atexit", "raises", "exits", "aborts",
		"dies", "grows", "hangs", "kills"} {
		session := &run.Session{}
		for i, kind := range []string{first, "clean"} {
			p := playing{name: "guest", kind: kind, seed: 1, to: "2020-04-24T08:00:00Z"}
			alone, want := p.play(t, l)
			p.split.Session = session
			forked, got := p.play(t, l)
			if forked.InSession() != (i == 0 || !leaves[first]) {
				t.Errorf("%s after %s: in a session: %t", kind, first, forked.InSession())
			}
			if kind == "kills" { // the process that it is a copy of: who plays in sessions plays it again
				if want.Failure != nil || got.Failure == nil {
					t.Errorf("kills: %+v, in a copy %+v", want.Failure, got.Failure)
				}
				continue
			}
			if fault := differing(alone, forked); fault != "" {
				t.Errorf("%s after %s: %s", kind, first, fault)
			}
			compareFailures(t, kind, want, got)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
}

// compareFailures checks that an outcome is told alike wherever it was played.
func compareFailures(t *testing.T, kind string, want, got runner.Outcome) {
	t.Helper()
	if (want.Failure == nil) != (got.Failure == nil) {
		t.Errorf("%s: fails with %+v, in a copy with %+v", kind, want.Failure, got.Failure)
		return
	}
	if want.Failure == nil {
		return
	}
	a, _ := json.Marshal([]any{want.Failure.Code, want.Failure.PluginExitCode, want.Failure.Message})
	b, _ := json.Marshal([]any{got.Failure.Code, got.Failure.PluginExitCode, got.Failure.Message})
	if string(a) != string(b) {
		t.Errorf("%s: fails with %s, in a copy with %s", kind, a, b)
	}
}

// BenchmarkPlays plays 2,000 candles again and again, with a process for each play and in copies of one. The
// strategies have pandas, and one of them imports it.
func BenchmarkPlays(b *testing.B) {
	for _, module := range []string{"pandas", "json"} {
		l := played(b, "twin", "strategy:Twin", "import "+module+"\n"+strings.Replace(strategy, "Param(2,", "Param(500,", 1), "pandas")
		for _, session := range []*run.Session{nil, {}} {
			name := module + "/apart"
			if session != nil {
				name = module + "/session"
			}
			b.Run(name, func(b *testing.B) {
				p := playing{name: "twin", free: true, to: "2020-04-24T08:00:00Z", split: run.Split{Session: session}}
				p.play(b, l)
				began := usedCPU()
				for b.Loop() {
					p.play(b, l)
				}
				b.ReportMetric(float64((usedCPU()-began).Milliseconds())/float64(b.N), "cpu-ms/op")
			})
			if session != nil {
				_ = session.Close()
			}
		}
	}
}

// usedCPU is the processor time of this process and of those that it has waited for.
func usedCPU() (total time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return total
}
