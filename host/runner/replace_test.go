package runner

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/assay-run/assay/host/artifact"
)

// held returns a runner with a run that has ended.
func held(t *testing.T, opts Options) (*Runner, Snapshot) {
	t.Helper()
	r := newRunner(t, opts)
	mustStart(t, r, &fakeExec{})
	return r, waitFor(t, r, "completed")
}

// TestReplaceIsOneStep: the old result stands until the new run begins, and nobody sees the runner idle.
func TestReplaceIsOneStep(t *testing.T) {
	r, old := held(t, Options{})
	changes, cancel := r.Subscribe()
	defer cancel()
	now, err := r.Replace(t.Context(), old.RunID, backtest(),
		func(context.Context, string) (Execution, error) {
			if rep, err := r.Results(); err != nil || rep.Snapshot.RunID != old.RunID {
				t.Errorf("during the launch: %v, %v", describe(rep.Snapshot), err)
			}
			return &fakeExec{run: untilStopped}, nil
		})
	if err != nil || now.RunID == old.RunID || now.Status != "running" {
		t.Fatalf("%s, %v", describe(now), err)
	}
	if c := <-changes; c.Previous != "completed" || c.Snapshot.RunID != now.RunID ||
		c.Snapshot.Seq != old.Seq+1 {
		t.Errorf("%s after %s", describe(c.Snapshot), c.Previous)
	}
}

// TestRefusedReplaceKeepsTheOldResult: for whatever reason.
func TestRefusedReplaceKeepsTheOldResult(t *testing.T) {
	full := errors.New("no space left")
	rows := 0
	r, old := held(t, Options{Recorder: &fakeRecorder{begin: func(Started) error {
		if rows++; rows == 2 {
			return full
		}
		return nil
	}}})
	for name, c := range map[string]struct {
		id     string
		launch LaunchFunc
		code   Code
	}{
		"another run":     {"svc_other", launching(&fakeExec{}), RunAlreadyActive},
		"no run":          {"", launching(&fakeExec{}), RunAlreadyActive},
		"bad parameters":  {old.RunID, broken, RunStartFailed},
		"no row possible": {old.RunID, launching(&fakeExec{run: untilStopped}), RunStartFailed},
	} {
		_, err := r.Replace(t.Context(), c.id, backtest(), c.launch)
		if e := wantCode(t, err, c.code); e.RunID != old.RunID || e.Status != "completed" {
			t.Errorf("%s: %+v", name, e)
		}
		if rep, err := r.Results(); err != nil || rep.Snapshot.RunID != old.RunID ||
			rep.Snapshot.Seq != old.Seq {
			t.Errorf("%s: %s, %v", name, describe(rep.Snapshot), err)
		}
	}
}

// TestInterruptedRunsAreOnlyReset: what may have left orders or positions is not hidden by another run.
func TestInterruptedRunsAreOnlyReset(t *testing.T) {
	for _, code := range []string{CodeRunInterrupted, "JOURNAL_QUARANTINED", "STOP_UNCONFIRMED"} {
		r := newRunner(t, Options{})
		cut := Report{Snapshot: Snapshot{RunID: "svc_cut", Mode: ModeLive,
			Failure: &artifact.Failure{Code: code}}}
		if err := r.Restore(cut, nil); err != nil {
			t.Fatal(err)
		}
		_, err := r.Replace(t.Context(), "svc_cut", backtest(), launching(&fakeExec{}))
		if e := wantCode(t, err, RunAlreadyActive); e.Hint != "reset it" ||
			!strings.Contains(e.Message, "(status: failed)") {
			t.Errorf("%s: %+v", code, e)
		}
	}
}

func TestReplaceWhenIdleStarts(t *testing.T) {
	r := newRunner(t, Options{})
	if now, err := r.Replace(t.Context(), "svc_gone", backtest(),
		launching(&fakeExec{run: untilStopped})); err != nil || now.Status != "running" {
		t.Errorf("%s, %v", describe(now), err)
	}
	_, err := r.Replace(t.Context(), r.Status().RunID, backtest(), launching(&fakeExec{}))
	wantCode(t, err, RunAlreadyActive)
}

// TestReplacesAtOnce: of those that name the same run one wins, however many there are.
func TestReplacesAtOnce(t *testing.T) {
	r, old := held(t, Options{})
	var won, refused atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, err := r.Replace(context.Background(), old.RunID, backtest(),
				launching(&fakeExec{run: untilStopped}))
			var e *Error
			switch {
			case err == nil:
				won.Add(1)
			case errors.As(err, &e) && e.Code == RunAlreadyActive && e.Status == "running":
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || refused.Load() != 49 {
		t.Errorf("%d won, %d refused", won.Load(), refused.Load())
	}
}

// TestReplaceBesideReset: in whichever order they come, the new run is on in the end and the old one is gone.
func TestReplaceBesideReset(t *testing.T) {
	for range 200 {
		r, old := held(t, Options{})
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := r.Reset(context.Background())
			var e *Error
			if err != nil && (!errors.As(err, &e) || e.Code != RunStillRunning) {
				t.Errorf("reset: %v", err)
			}
		})
		now, err := r.Replace(t.Context(), old.RunID, backtest(), launching(&fakeExec{run: untilStopped}))
		wg.Wait()
		if err != nil || r.Status().RunID != now.RunID {
			t.Fatalf("%s, %v", describe(now), err)
		}
	}
}

// closing is an execution that counts how often it is let go.
type closing struct {
	fakeExec
	closed chan struct{}
}

func (c *closing) Close() error { close(c.closed); return nil }

func TestReplacedRunIsReleased(t *testing.T) {
	r := newRunner(t, Options{})
	first := &closing{closed: make(chan struct{})}
	mustStart(t, r, first)
	old := waitFor(t, r, "completed")
	if _, err := r.Replace(t.Context(), old.RunID, backtest(),
		launching(&fakeExec{run: untilStopped})); err != nil {
		t.Fatal(err)
	}
	<-first.closed
}
