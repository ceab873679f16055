package runner

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

func TestConcurrentStarts(t *testing.T) {
	var rows, launches atomic.Int64
	r := newRunner(t,
		Options{Recorder: &fakeRecorder{begin: func(Started) error { rows.Add(1); return nil }}})
	var won, refused atomic.Int64
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			_, err := r.Start(context.Background(), backtest(),
				func(context.Context, string) (Execution, error) {
					launches.Add(1)
					return &fakeExec{run: untilStopped}, nil
				})
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
	if won.Load() != 1 || refused.Load() != 99 || rows.Load() != 1 || launches.Load() != 1 {
		t.Errorf("%d won, %d refused, %d rows, %d launches", won.Load(), refused.Load(), rows.Load(),
			launches.Load())
	}
}

// TestStopAgainstNaturalEnd lets both happen at once: whichever is first makes the
// end, and the answer to the stop always fits the status.
func TestStopAgainstNaturalEnd(t *testing.T) {
	r := newRunner(t, Options{})
	stops, ends := 0, 0
	for i := range 1000 {
		exec := newControlled()
		started := mustStart(t, r, exec)
		var wg sync.WaitGroup
		if i%3 == 0 { // now and then the end has a head start
			exec.finish(Outcome{})
		} else {
			wg.Go(func() { exec.finish(Outcome{}) })
		}
		answer, err := r.Stop(t.Context())
		wg.Wait()
		final := waitFor(t, r, "completed")
		switch {
		case err == nil && answer.RunID == started.RunID && answer.StopReason == "stopped" &&
			answer.Partial && final.StopReason == "stopped":
			stops++
		case err != nil && wantCode(t, err, RunNotActive).Status == "completed" &&
			final.StopReason == "finished" && !final.Partial:
			ends++
		default:
			t.Fatalf("stop: %s, %v; status: %s", describe(answer), err, describe(final))
		}
		if _, err := r.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d by stop, %d by themselves", stops, ends)
}

// TestSlowSubscriber: somebody who does not listen holds nobody up and misses nothing.
func TestSlowSubscriber(t *testing.T) {
	r := newRunner(t, Options{})
	changes, cancel := r.Subscribe()
	defer cancel()
	_, abandoned := r.Subscribe()
	const runs = 200
	for range runs {
		mustStart(t, r, &fakeExec{run: untilStopped})
		if _, err := r.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	abandoned()
	abandoned() // twice is fine
	for seq := range uint64(3 * runs) {
		if c := <-changes; c.Snapshot.Seq != seq+1 {
			t.Fatalf("change %d follows %d", c.Snapshot.Seq, seq)
		}
	}
	cancel()
	if _, open := <-changes; open {
		t.Error("the channel is open after cancel")
	}
}
