package runner

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func TestLifeOfARun(t *testing.T) {
	r := newRunner(t, Options{})
	changes, cancel := r.Subscribe()
	defer cancel()
	if s := r.Status(); !reflect.DeepEqual(s, Snapshot{Status: "idle"}) {
		t.Errorf("%+v", s)
	}
	_, err := r.Results()
	wantCode(t, err, NoRun)
	_, err = r.Stop(t.Context())
	wantCode(t, err, RunNotActive)

	exec := newControlled()
	started := mustStart(t, r, exec)
	if started.Status != "running" || started.Mode != "backtest" || started.Phase != "trading" ||
		started.StartTime.IsZero() || !started.EndTime.IsZero() {
		t.Errorf("%+v", started)
	}
	_, err = r.Results()
	if e := wantCode(t, err, ResultsNotReady); e.RunID != started.RunID {
		t.Errorf("%+v", e)
	}
	_, err = r.Reset(t.Context())
	wantCode(t, err, RunStillRunning)
	_, err = r.Start(t.Context(), backtest(), launching(exec))
	if e := wantCode(t, err, RunAlreadyActive); e.Status != "running" || e.RunID != started.RunID {
		t.Errorf("%+v", e)
	}
	if d := r.Detail(); d.Results.FinalValue != "10001" || d.Snapshot.Status != "running" ||
		d.Request.StrategyName != "sma_cross" {
		t.Errorf("%+v", d)
	}

	exec.finish(Outcome{Message: "all done"})
	done := waitFor(t, r, "completed")
	if got := describe(
		done); got != `completed phase="" reason="finished" partial=false message="all done" error=""` {
		t.Error(got)
	}
	if done.Progress.CandlesDone != 7 || done.Progress.ETASeconds != 0 ||
		done.EndTime.Before(done.StartTime) || done.RunID != started.RunID {
		t.Errorf("%+v", done)
	}
	rep, err := r.Results()
	if err != nil || rep.Results.ResultHash != "hash of "+started.RunID ||
		rep.Artifacts != "runs/"+started.RunID {
		t.Errorf("%+v, %v", rep, err)
	}
	_, err = r.Start(t.Context(), backtest(), launching(exec))
	wantCode(t, err, RunAlreadyActive)
	_, err = r.Stop(t.Context())
	wantCode(t, err, RunNotActive)

	cleared, err := r.Reset(t.Context())
	if err != nil || cleared.RunID != started.RunID || cleared.Status != "idle" {
		t.Errorf("%+v, %v", cleared, err)
	}
	if again, err := r.Reset(t.Context()); err != nil || again.RunID != "" || again.Status != "idle" {
		t.Errorf("%+v, %v", again, err)
	}
	var seen []string
	for range 3 {
		c := <-changes
		seen = append(seen, fmt.Sprintf("%d %s>%s", c.Snapshot.Seq, c.Previous, c.Snapshot.Status))
	}
	if got := strings.Join(seen, ", "); got != "1 idle>running, 2 running>completed, 3 completed>idle" {
		t.Error(got)
	}
}

func TestFaults(t *testing.T) {
	code := 139
	cases := map[string]struct {
		exec fakeExec
		rec  fakeRecorder
		want string
		err  string
	}{
		"failure": {
			exec: fakeExec{run: func(context.Context) Outcome {
				return Outcome{Failure: &artifact.Failure{Code: "PLUGIN_CRASHED", Message: "gone",
					PluginExitCode: &code}}
			}},
			want: "PLUGIN_CRASHED", err: "gone",
		},
		"panic": {
			exec: fakeExec{run: func(context.Context) Outcome { panic("secret") }},
			want: "INTERNAL_ERROR",
			err:  "The host failed internally during the run; the service's log has the details.",
		},
		"panic in results": {
			exec: fakeExec{results: func() *artifact.Results { panic("secret") }},
			want: "INTERNAL_ERROR", err: "The run ended, but the host cannot tell what it has produced.",
		},
		"no results": {
			exec: fakeExec{results: func() *artifact.Results { return nil }},
			want: "INTERNAL_ERROR", err: "The run ended, but the host cannot tell what it has produced.",
		},
		"stopped by nobody": {
			exec: fakeExec{run: func(context.Context) Outcome { return Outcome{Stopped: true} }},
			want: "INTERNAL_ERROR", err: "The run ended early without a request to stop.",
		},
		"write failure": {
			rec:  fakeRecorder{finish: func(Ended) (Kept, error) { return Kept{}, errors.New("disk full") }},
			want: "ARTIFACT_WRITE_FAILED", err: "The results could not be written: disk full",
		},
		"write panic": {
			rec:  fakeRecorder{finish: func(Ended) (Kept, error) { panic("secret") }},
			want: "ARTIFACT_WRITE_FAILED",
			err:  "The results could not be written: internal error (panic: string)",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, Options{Recorder: &c.rec})
			mustStart(t, r, &c.exec)
			s := waitFor(t, r, "failed")
			if s.Failure.Code != c.want || s.Error != c.err || s.StopReason != "error" ||
				s.Failure.LogTail == nil || s.Failure.Data == nil {
				t.Errorf("%s %+v", describe(s), s.Failure)
			}
			if rep, err := r.Results(); err != nil || rep.Results == nil {
				t.Errorf("%+v, %v", rep, err)
			}
			if n := r.Counters(); n.RunsTotal != 1 || n.RunsFailed != 1 {
				t.Errorf("%+v", n)
			}
			if _, err := r.Reset(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWriteFailureKeepsTheFirstFailure(t *testing.T) {
	f := writeFailure(errors.New("disk full"),
		&artifact.Failure{Code: "PLUGIN_CRASHED", Message: "gone", Phase: "trading", LogTail: []string{"x"}})
	inner, ok := f.Data["run_failure"].(map[string]any)
	if f.Code != "ARTIFACT_WRITE_FAILED" || !ok || inner["code"] != "PLUGIN_CRASHED" ||
		f.Phase != "trading" || len(f.LogTail) != 1 {
		t.Errorf("%+v", f)
	}
}

func TestStart(t *testing.T) {
	t.Run("launch fails", func(t *testing.T) {
		r := newRunner(t, Options{})
		bad := errors.New("no such plugin")
		_, err := r.Start(t.Context(), backtest(), func(context.Context, string) (Execution, error) {
			return nil, bad
		})
		if e := wantCode(t, err, RunStartFailed); !errors.Is(e, bad) || e.Status != "idle" {
			t.Errorf("%+v", e)
		}
		if s := r.Status(); !reflect.DeepEqual(s, Snapshot{Status: "idle"}) || r.Counters().RunsTotal != 0 {
			t.Errorf("%+v", s)
		}
		mustStart(t, r, &fakeExec{})
	})
	t.Run("no row, no run", func(t *testing.T) {
		r := newRunner(t,
			Options{Recorder: &fakeRecorder{begin: func(Started) error { return errors.New("locked") }}})
		taken := make(chan struct{})
		exec := &fakeExec{run: func(ctx context.Context) Outcome {
			<-ctx.Done()
			close(taken)
			return Outcome{Stopped: true}
		}}
		_, err := r.Start(t.Context(), backtest(), launching(exec))
		wantCode(t, err, RunStartFailed)
		<-taken // the process of the launch is taken down
	})
	t.Run("launch too slow", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRunner(t, Options{})
			begun := time.Now()
			_, err := r.Start(t.Context(), backtest(),
				func(ctx context.Context, _ string) (Execution, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				})
			if e := wantCode(t, err, RunStartFailed); !errors.Is(e, errLaunchTimeout) ||
				time.Since(begun) != 10*time.Second {
				t.Errorf("%v after %v", e, time.Since(begun))
			}
		})
	})
	t.Run("row before running, idle while launching", func(t *testing.T) {
		rows := 0
		r := newRunner(t, Options{Recorder: &fakeRecorder{begin: func(Started) error { rows++; return nil }}})
		s, err := r.Start(t.Context(), backtest(), func(_ context.Context, id string) (Execution, error) {
			if now := r.Status(); now.Status != "idle" || rows != 0 || !strings.HasPrefix(id, "svc_") {
				t.Errorf("%+v, %d rows", now, rows)
			}
			return &fakeExec{run: untilStopped}, nil
		})
		if err != nil || rows != 1 || s.Status != "running" {
			t.Errorf("%+v, %d rows, %v", s, rows, err)
		}
	})
	t.Run("the second start waits for the first", func(t *testing.T) {
		r := newRunner(t, Options{})
		launched, fail := make(chan struct{}), make(chan struct{})
		first := make(chan error, 1)
		go func() {
			_, err := r.Start(context.Background(), backtest(),
				func(context.Context, string) (Execution, error) {
					close(launched)
					<-fail
					return nil, errors.New("no")
				})
			first <- err
		}()
		<-launched
		short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := r.Start(short, backtest(), launching(&fakeExec{})); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		close(fail)
		wantCode(t, <-first, RunStartFailed)
		mustStart(t, r, &fakeExec{})
	})
}

func TestNothingIsVisibleBeforeItIsWritten(t *testing.T) {
	writing, written := make(chan Ended), make(chan struct{})
	r := newRunner(t, Options{Recorder: &fakeRecorder{finish: func(e Ended) (Kept, error) {
		writing <- e
		<-written
		return Kept{}, nil
	}}})
	mustStart(t, r, &fakeExec{})
	if e := <-writing; e.Status != "completed" || e.StopReason != "finished" ||
		e.Results.FinalValue != "10001" {
		t.Errorf("%+v", e)
	}
	if s := r.Status(); s.Status != "running" {
		t.Error(describe(s))
	}
	// A stop is too late now; it is told so once the end can be seen.
	late := make(chan error, 1)
	go func() {
		_, err := r.Stop(context.Background())
		late <- err
	}()
	select {
	case err := <-late:
		t.Errorf("answered before the end is visible: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(written)
	if e := wantCode(t, <-late, RunNotActive); e.Status != "completed" {
		t.Errorf("%+v", e)
	}
}

func TestRestore(t *testing.T) {
	r := newRunner(t, Options{})
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	err := r.Restore(
		Report{Snapshot: Snapshot{RunID: "svc_x", Mode: ModeLive, StartTime: at,
			Progress: Progress{TradeCount: 3}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Status()
	if s.Status != "failed" || s.Failure.Code != "RUN_INTERRUPTED" || s.Progress.TradeCount != 3 ||
		s.Error == "" || !s.StartTime.Equal(at) {
		t.Errorf("%+v", s)
	}
	if _, err := r.Results(); err != nil {
		t.Error(err)
	}
	wantCode(t, r.Restore(Report{}, nil), Internal)
	_, err = r.Stop(t.Context())
	wantCode(t, err, RunNotActive)
	if c, err := r.Reset(t.Context()); err != nil || c.RunID != "svc_x" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestCounters(t *testing.T) {
	r := newRunner(t, Options{})
	for i := range 3 {
		exec := newControlled()
		mustStart(t, r, exec)
		if n := r.Counters(); n.RunsTotal != int64(i+1) || n.CandlesPerSecond != 3 ||
			n.Candles != int64(7*(i+1)) {
			t.Errorf("%d: %+v", i, n)
		}
		o := Outcome{}
		if i == 1 {
			o.Failure = &artifact.Failure{Code: "DATA_ERROR"}
		}
		exec.finish(o)
		waitFor(t, r, [2]string{"completed", "failed"}[i%2])
		if _, err := r.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	n := r.Counters()
	if n.Candles != 21 || n.Orders != 6 || n.Fills != 3 || n.RunsFailed != 1 {
		t.Errorf("%+v", n)
	}
	if want := []OutcomeCount{{"backtest", "completed", 2},
		{"backtest", "failed", 1}}; !slices.Equal(n.Outcomes, want) {
		t.Errorf("%+v", n.Outcomes)
	}
}

// TestDoubtfulNumbersAreWarnings: what makes numbers doubtful is in the results and in what is kept of them,
// and the execution's own snapshot stays as it was.
func TestDoubtfulNumbersAreWarnings(t *testing.T) {
	snapshot := &artifact.Results{
		InitialCash: "10000", FinalValue: "1",
		Equity:   artifact.EquityCurve{Time: []market.Time{0}, Equity: []float64{1}},
		Warnings: append(make([]artifact.Note, 0, 4), artifact.Note{Code: "WINDOW_CLIPPED"}),
	}
	var kept []artifact.Note
	r := newRunner(t, Options{Recorder: &fakeRecorder{finish: func(e Ended) (Kept, error) {
		kept = e.Results.Warnings
		return Kept{}, nil
	}}})
	mustStart(t, r, &fakeExec{results: func() *artifact.Results { return snapshot }})
	waitFor(t, r, "completed")
	rep, err := r.Results()
	if err != nil || len(kept) != 2 || kept[1].Code != artifact.EquityBelowHalf ||
		!slices.Equal(rep.Results.Warnings, kept) {
		t.Errorf("kept %v, results %v, %v", kept, rep.Results.Warnings, err)
	}
	if len(snapshot.Warnings) != 1 || snapshot.Warnings[:2][1].Code != "" {
		t.Errorf("the execution's own: %v", snapshot.Warnings[:2])
	}
}
