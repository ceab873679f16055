package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/artifact"
)

func TestMain(m *testing.M) {
	if crashHelper() {
		return
	}
	goleak.VerifyTestMain(m)
}

// fakeExec is an Execution made of functions; nil ones behave well.
type fakeExec struct {
	run      func(context.Context) Outcome
	progress func() Progress
	results  func() *artifact.Results
}

func (f *fakeExec) Run(ctx context.Context) Outcome {
	if f.run == nil {
		return Outcome{}
	}
	return f.run(ctx)
}

func (f *fakeExec) Progress() Progress {
	if f.progress == nil {
		return Progress{Phase: "trading", CandlesDone: 7, CandlesTotal: 10, CandlesPerSecond: 3,
			ETASeconds: 1, Orders: 2, Fills: 1}
	}
	return f.progress()
}

func (f *fakeExec) Results() *artifact.Results {
	if f.results == nil {
		return &artifact.Results{FinalValue: "10001"}
	}
	return f.results()
}

// untilStopped returns a Run that goes on until it is told to stop.
func untilStopped(ctx context.Context) Outcome {
	<-ctx.Done()
	return Outcome{Stopped: true, Message: context.Cause(ctx).Error()}
}

// controlled is an execution whose natural end the test decides.
type controlled struct {
	fakeExec
	end  chan Outcome
	once sync.Once
}

func newControlled() *controlled {
	c := &controlled{end: make(chan Outcome, 1)}
	c.run = func(ctx context.Context) Outcome {
		select {
		case o := <-c.end:
			return o
		case <-ctx.Done():
			return Outcome{Stopped: true}
		}
	}
	return c
}

func (c *controlled) finish(o Outcome) { c.once.Do(func() { c.end <- o }) }

// fakeRecorder is a Recorder made of functions; nil ones succeed.
type fakeRecorder struct {
	begin  func(Started) error
	finish func(Ended) (Kept, error)
}

func (f *fakeRecorder) Begin(_ context.Context, s Started) error {
	if f.begin == nil {
		return nil
	}
	return f.begin(s)
}

func (f *fakeRecorder) Finish(_ context.Context, e Ended) (Kept, error) {
	if f.finish == nil {
		return Kept{ResultHash: "hash of " + e.RunID, Artifacts: "runs/" + e.RunID}, nil
	}
	return f.finish(e)
}

func backtest() StartRequest {
	return StartRequest{
		Mode: ModeBacktest, StrategyName: "sma_cross", StrategyParams: json.RawMessage(`{}`),
		Symbols:   []string{"BTC/USDT"},
		Timeframe: "1h", InitialCash: "10000", Exchange: "sample", Execution: json.RawMessage(`{}`),
	}
}

func launching(e Execution) LaunchFunc {
	return func(context.Context, string) (Execution, error) { return e, nil }
}

func newRunner(t *testing.T, opts Options) *Runner {
	t.Helper()
	if opts.Recorder == nil {
		opts.Recorder = &fakeRecorder{}
	}
	r := New(opts)
	t.Cleanup(func() {
		if err := r.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return r
}

func mustStart(t *testing.T, r *Runner, e Execution) Snapshot {
	t.Helper()
	s, err := r.Start(t.Context(), backtest(), launching(e))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// waitFor waits until the runner has the status.
func waitFor(t *testing.T, r *Runner, status string) Snapshot {
	t.Helper()
	changes, cancel := r.Subscribe()
	defer cancel()
	late := time.After(20 * time.Second)
	for now := r.Status(); ; {
		if now.Status == status {
			return r.Status()
		}
		select {
		case c := <-changes:
			now = c.Snapshot
		case <-late:
			t.Fatalf("status is %s, not %s", now.Status, status)
		}
	}
}

func wantCode(t *testing.T, err error, code Code) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	return e
}

func describe(s Snapshot) string {
	return fmt.Sprintf("%s phase=%q reason=%q partial=%v message=%q error=%q", s.Status, s.Phase,
		s.StopReason, s.Partial, s.Message, s.Error)
}
