package runner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-run/assay/host/artifact"
)

func TestStop(t *testing.T) {
	r := newRunner(t, Options{})
	started := mustStart(t, r, &fakeExec{run: untilStopped})
	s, err := r.Stop(t.Context())
	if err != nil || s.RunID != started.RunID {
		t.Fatalf("%+v, %v", s, err)
	}
	if got := describe(
		s); got != `completed phase="" reason="stopped" partial=true message="stop requested" error=""` {
		t.Error(got)
	}
}

func TestStopOfAHangingBacktest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Options{Recorder: &fakeRecorder{}})
		free := make(chan struct{})
		mustStart(t, r, &fakeExec{run: func(context.Context) Outcome { <-free; return Outcome{} }})
		begun := time.Now()
		s, err := r.Stop(t.Context())
		if err != nil || s.Status != "completed" || s.StopReason != "stopped" || !s.Partial ||
			!strings.Contains(s.Message, "left behind") {
			t.Errorf("%s, %v", describe(s), err)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
		// The service goes on, whatever becomes of the hanging run.
		if _, err := r.Reset(t.Context()); err != nil {
			t.Error(err)
		}
		mustStart(t, r, &fakeExec{run: untilStopped})
		close(free)
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if s := r.Status(); s.StopReason != "shutdown" || !s.Partial {
			t.Error(describe(s))
		}
	})
}

func TestStopOfASlowLiveRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Options{Recorder: &fakeRecorder{}})
		req := backtest()
		req.Mode = ModeLive
		exec := &fakeExec{run: func(ctx context.Context) Outcome {
			<-ctx.Done()
			time.Sleep(20 * time.Second)
			return Outcome{Stopped: true,
				Failure: &artifact.Failure{Code: "STOP_UNCONFIRMED", Message: "o-1 is unconfirmed"}}
		}}
		started, err := r.Start(t.Context(), req, launching(exec))
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.Stop(t.Context())
		if err != nil || s.Status != "running" || s.Phase != "stopping" ||
			time.Since(started.StartTime) != 10*time.Second {
			t.Errorf("%s, %v", describe(s), err)
		}
		// Stopping again changes nothing and answers at once.
		s, err = r.Stop(t.Context())
		if err != nil || s.Status != "running" || s.RunID != started.RunID ||
			time.Since(started.StartTime) != 10*time.Second {
			t.Errorf("%s, %v", describe(s), err)
		}
		_, err = r.Start(t.Context(), req, launching(exec))
		wantCode(t, err, RunAlreadyActive)
		time.Sleep(11 * time.Second)
		if s := r.Status(); s.Status != "failed" || s.Failure.Code != "STOP_UNCONFIRMED" {
			t.Error(describe(s))
		}
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestStopGivesUpWithItsCaller(t *testing.T) {
	r := newRunner(t, Options{})
	free := make(chan struct{})
	mustStart(t, r,
		&fakeExec{run: func(ctx context.Context) Outcome {
			<-ctx.Done()
			<-free
			return Outcome{Stopped: true}
		}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for r.Status().Phase != "stopping" {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := r.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(free)
	if s := waitFor(t, r, "completed"); s.StopReason != "stopped" {
		t.Error(describe(s))
	}
}

func TestFaultBeforeTheStopIsNoticed(t *testing.T) {
	r := newRunner(t, Options{})
	mustStart(t, r, &fakeExec{run: func(ctx context.Context) Outcome {
		<-ctx.Done()
		return Outcome{Failure: &artifact.Failure{Code: "PLUGIN_CRASHED", Message: "gone"}}
	}})
	_, err := r.Stop(t.Context())
	if e := wantCode(t, err, RunNotActive); e.Status != "failed" {
		t.Errorf("%+v", e)
	}
}

func TestShutdown(t *testing.T) {
	t.Run("idle", func(t *testing.T) {
		r := New(Options{Recorder: &fakeRecorder{}})
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		_, err := r.Start(t.Context(), backtest(), launching(&fakeExec{}))
		wantCode(t, err, ShuttingDown)
	})
	t.Run("running", func(t *testing.T) {
		r := New(Options{Recorder: &fakeRecorder{}})
		mustStart(t, r, &fakeExec{run: untilStopped})
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := describe(
			r.Status()); got != `completed phase="" reason="shutdown" partial=true message="the service is shutting down" error=""` {
			t.Error(got)
		}
	})
	t.Run("stopped before", func(t *testing.T) {
		r := New(Options{Recorder: &fakeRecorder{}})
		free := make(chan struct{})
		mustStart(t, r,
			&fakeExec{run: func(ctx context.Context) Outcome {
				<-ctx.Done()
				<-free
				return Outcome{Stopped: true}
			}})
		stopped := make(chan Snapshot, 1)
		go func() {
			s, _ := r.Stop(context.Background())
			stopped <- s
		}()
		for r.Status().Phase != "stopping" {
			time.Sleep(time.Millisecond)
		}
		time.AfterFunc(10*time.Millisecond, func() { close(free) })
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if s := <-stopped; s.StopReason != "stopped" {
			t.Error(describe(s))
		}
	})
	t.Run("while launching", func(t *testing.T) {
		r := New(Options{Recorder: &fakeRecorder{}})
		launched := make(chan struct{})
		answer := make(chan error, 1)
		go func() {
			_, err := r.Start(context.Background(), backtest(),
				func(ctx context.Context, _ string) (Execution, error) {
					close(launched)
					<-ctx.Done()
					return nil, ctx.Err()
				})
			answer <- err
		}()
		<-launched
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		wantCode(t, <-answer, ShuttingDown)
	})
	t.Run("budget", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := New(Options{Recorder: &fakeRecorder{}})
			req := backtest()
			req.Mode = ModePaper
			free := make(chan struct{})
			_, err := r.Start(t.Context(), req,
				launching(&fakeExec{run: func(context.Context) Outcome { <-free; return Outcome{} }}))
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			if err := r.Shutdown(t.Context()); !errors.Is(err, errShutdownTimeout) ||
				time.Since(begun) != 30*time.Second {
				t.Errorf("%v after %v", err, time.Since(begun))
			}
			close(free)
			synctest.Wait()
		})
	})
}
