package trade

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-run/assay/host/deploy"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/engine"
	"github.com/assay-run/assay/host/trade/journal"
)

// TestFlattenIsManual: what --on-stop flatten closes was closed by hand, also in what a restart reads back;
// what the strategy closed before is its signal. Every order that reached the venue shows the venue's id.
func TestFlattenIsManual(t *testing.T) {
	d := newTestHost(t, 10, "good")
	d.launcher.opts.OnStop = engine.Flatten
	x := d.launch(onSim(runner.ModeLive, "good", map[string]any{"every": 5}, ""))
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() {
		for p := x.Progress(); p.Fills < 3 || p.Fills%2 == 0; p = x.Progress() {
			time.Sleep(time.Millisecond)
		}
		cancel(runner.ErrStopRequested)
	}()
	if o := x.Run(ctx); o.Failure != nil || !o.Stopped || strings.Contains(o.Message, "Kept") {
		t.Fatalf("%+v %+v", o, o.Failure)
	}
	r := x.Results()
	last := len(r.Trades) - 1
	if last < 1 || len(r.Positions) != 0 || r.Trades[last].ExitReason != "manual" {
		t.Fatalf("%+v, %d positions", r.Trades, len(r.Positions))
	}
	for _, trade := range r.Trades[:last] {
		if trade.ExitReason != "signal" {
			t.Errorf("%+v", trade)
		}
	}
	seen := map[string]bool{}
	for _, o := range r.Orders {
		if o.ExchangeID == "" || seen[o.ExchangeID] {
			t.Errorf("%s: exchange id %q", o.ID, o.ExchangeID)
		}
		seen[o.ExchangeID] = true
	}
	info, err := d.journal.Run(t.Context(), x.runID)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := d.launcher.readBack(t.Context(), info)
	if err != nil || len(rep.Results.Trades) != last+1 || rep.Results.Trades[last].ExitReason != "manual" ||
		rep.Results.Orders[0].ExchangeID != r.Orders[0].ExchangeID {
		t.Errorf("read back: %+v %v", rep.Results.Trades, err)
	}
}

// TestUnconfirmedStopFails: orders that could not be confirmed as gone are not hidden behind the stop.
func TestUnconfirmedStopFails(t *testing.T) {
	d := newTestHost(t, 10, "good")
	x := d.launch(onSim(runner.ModeLive, "good", nil, ""))
	fault := &engine.Fault{Code: engine.CodeUnconfirmed, Message: "1 orders could not be confirmed",
		Data: map[string]any{"orders": []string{"as1"}}, Err: runner.ErrStopRequested}
	if o := x.outcome(fault); o.Failure == nil || o.Stopped || o.Failure.Code != "STOP_UNCONFIRMED" ||
		o.Failure.Data["orders"] == nil {
		t.Errorf("%+v %+v", o, o.Failure)
	}
}

// keeps is a recorder that keeps nothing.
type keeps struct{}

func (keeps) Begin(context.Context, runner.Started) error               { return nil }
func (keeps) Finish(context.Context, runner.Ended) (runner.Kept, error) { return runner.Kept{}, nil }

// started returns a run that goes through the runner.
func (d *testHost) started(t *testing.T, r *runner.Runner, req runner.StartRequest) (x *Execution) {
	t.Helper()
	_, err := r.Start(t.Context(), req, func(ctx context.Context, id string) (_ runner.Execution, err error) {
		x, err = d.launcher.launch(ctx, id, req)
		return x, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestDeploymentStopsTheRun: a deployment that is killed or revoked ends the run as a stop does, through the
// runner: completed, stopped, with the reason in its message and its warnings; one that is suspended lets
// positions shrink.
func TestDeploymentStopsTheRun(t *testing.T) {
	d := newTestHost(t, 10, "good")
	r := runner.New(runner.Options{Recorder: keeps{}})
	defer func() {
		if _, err := r.Reset(context.Background()); err != nil {
			t.Error(err)
		}
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	x := d.started(t, r, onSim(runner.ModeLive, "good", map[string]any{"every": 4}, ""))
	wait(t, "fills", func() bool { return x.Progress().Fills >= 3 })
	x.gate.Lock()
	e := x.trading
	x.gate.Unlock()
	suspended := deploy.Notice{Code: deploy.DeploymentSuspended,
		Message: "The deployment is suspended: positions may only shrink."}
	x.permit.onDeployment(e, deploy.Event{Act: deploy.Reduce, Notice: suspended})
	wait(t, "phase reducing", func() bool { return r.Status().Phase == engine.Reducing })
	x.permit.onDeployment(e, deploy.Event{Act: deploy.Resume, Notice: suspended})
	wait(t, "phase trading", func() bool { return r.Status().Phase == engine.Trading })
	x.permit.onDeployment(e,
		deploy.Event{Act: deploy.Stop,
			Notice: deploy.Notice{Code: deploy.DeploymentRevoked, Message: "The deployment was killed."}})
	wait(t, "the end", func() bool { return r.Status().Status != runner.StatusRunning })
	rep, err := r.Results()
	s := rep.Snapshot
	if err != nil || s.Status != runner.StatusCompleted || s.StopReason != runner.StopStopped || !s.Partial ||
		s.Failure != nil ||
		!strings.HasPrefix(s.Message, "Stopped by the deployment policy: The deployment was killed.") {
		t.Errorf("%+v %+v %v", s, s.Failure, err)
	}
	if !warned(rep.Results, "DEPLOYMENT_REVOKED") || !warned(rep.Results, "DEPLOYMENT_SUSPENDED") {
		t.Errorf("warnings %v", rep.Results.Warnings)
	}
	if info, err := d.journal.Run(t.Context(), x.runID); err != nil || info.Status != journal.Completed ||
		info.StopReason != runner.StopStopped {
		t.Errorf("%+v %v", info, err)
	}
}

// wait gives the background 30 s.
func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for late := time.Now().Add(30 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("no %s", what)
		}
	}
}

// TestBrokenRun: a run in which the host itself breaks fails, and can be asked about as before.
func TestBrokenRun(t *testing.T) {
	for _, mode := range []string{runner.ModePaper, runner.ModeLive} {
		t.Run(mode, func(t *testing.T) {
			d := newTestHost(t, 10, "good")
			r := runner.New(runner.Options{Recorder: keeps{}})
			x := d.started(t, r, onSim(mode, "good", map[string]any{"every": 4}, `,"apiKey":"CANARY-KEY-1"`))
			wait(t, "candles", func() bool { return x.Progress().CandlesDone >= 3 })
			x.gate.Lock()
			x.chart.candles = nil // the next step looks for them
			x.gate.Unlock()
			ended := make(chan runner.Report)
			go func() {
				for r.Status().Status == runner.StatusRunning {
					time.Sleep(time.Millisecond)
				}
				ended <- r.Detail()
			}()
			select {
			case rep := <-ended:
				if s := rep.Snapshot; s.Status != runner.StatusFailed || s.Failure.Code != "INTERNAL_ERROR" ||
					x.Progress().CandlesDone < 3 {
					t.Errorf("%+v %+v %+v", s, s.Failure, x.Progress())
				}
			case <-time.After(30 * time.Second):
				t.Fatal("the status is not told any more")
			}
			if !x.setup.config.APIKey.Empty() {
				t.Error("the credentials are still there")
			}
			if _, err := r.Reset(context.Background()); err != nil {
				t.Error(err)
			}
			if err := r.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// killReports is a policy that needs several tries.
type killReports struct {
	Policy
	asked, ended atomic.Int64
}

func (k *killReports) RiskKill(ctx context.Context, _ *deploy.Admission, _, _ string) error {
	k.asked.Add(1)
	<-ctx.Done()
	k.ended.Add(1)
	return context.Cause(ctx)
}

// TestKillReportHoldsNobodyUp: a control plane that does not answer is told of a risk kill beside the end
// of the run, until the launcher is closed.
func TestKillReportHoldsNobodyUp(t *testing.T) {
	l := NewLauncher(Options{})
	policy := &killReports{}
	l.opts.Policy = policy
	x := (&Execution{opts: &l.opts, log: l.opts.Logger, runID: "svc_1"}).withParts()
	began := time.Now()
	x.permit.reportKill("too deep")
	if took := time.Since(began); took > time.Second {
		t.Errorf("the end of the run waited %s", took)
	}
	wait(t, "question", func() bool { return policy.asked.Load() == 1 })
	l.opts.beside.close(time.Millisecond)
	if policy.ended.Load() != 1 {
		t.Error("the report goes on after the end of the service")
	}
}
