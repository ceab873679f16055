package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// describedExec is an execution that Archive can keep.
type describedExec struct {
	*controlled
	lines int
}

func newDescribed() *describedExec { return &describedExec{controlled: newControlled(), lines: 3} }

func (d *describedExec) Manifest() artifact.Manifest {
	return artifact.Manifest{
		Request: artifact.Request{
			StrategyParams: json.RawMessage(`{"fast":10}`), Symbols: []string{"BTC/USDT"}, Timeframe: "1h",
			Exchange:    "sample",
			InitialCash: json.RawMessage("10000"), Execution: json.RawMessage(`{"profile":"bar-v1"}`),
		},
		Splits:   artifact.FullSplit(slices.Values([]market.Time{3600000, 7200000})),
		Strategy: artifact.Strategy{Name: "sma_cross", Version: "1.0.0"},
	}
}

func (d *describedExec) WriteDecisions(w io.Writer) error {
	for i := range d.lines {
		if _, err := fmt.Fprintf(w, `{"kind":"intent","seq":%d}`+"\n", i); err != nil {
			return err
		}
	}
	return nil
}

func (d *describedExec) Results() *artifact.Results {
	return &artifact.Results{
		FinalValue: "10000", Orders: []market.Order{{Reason: "warmup"}, {}},
		Equity: artifact.EquityCurve{
			Time: []market.Time{3600000, 7200000}, Equity: []float64{10000, 10000},
			Cash:          []float64{10000, 10000},
			PositionValue: []float64{0, 0}, Drawdown: []float64{0, 0}, Exposure: []float64{0, 0},
		},
	}
}

func openArchive(t testing.TB, root string) *Archive {
	t.Helper()
	store := artifact.NewStore(root)
	reg, err := registry.Open(context.Background(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Archive{Store: store, Registry: reg}
}

func TestArchive(t *testing.T) {
	a := openArchive(t, filepath.Join(t.TempDir(), "runs"))
	defer a.Registry.Close()
	r := newRunner(t, Options{Recorder: a})
	var hashes []string
	for range 2 {
		exec := newDescribed()
		started := mustStart(t, r, exec)
		row, err := a.Registry.Get(t.Context(), started.RunID)
		if err != nil || row.Status != "running" {
			t.Fatalf("%+v, %v", row, err)
		}
		exec.finish(Outcome{Message: "done"})
		waitFor(t, r, "completed")
		rep, err := r.Results()
		if err != nil || rep.Artifacts != "runs/"+started.RunID || rep.Manifest == nil ||
			rep.Results.RequestHash != row.RequestHash {
			t.Fatalf("%+v, %v", rep, err)
		}
		hashes = append(hashes, rep.Results.ResultHash)
		m, _, err := artifact.Verify(a.Store.Dir(started.RunID))
		if err != nil || m.Service.StopReason != "finished" || m.Service.Message != "done" ||
			m.Service.Mode != "backtest" || *m.ResultHash != rep.Results.ResultHash {
			t.Errorf("%+v, %v", m, err)
		}
		if _, err := r.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		if row, err = a.Registry.Get(t.Context(), started.RunID); err != nil || row.Status != "completed" {
			t.Errorf("%+v, %v", row, err)
		}
	}
	if hashes[0] != hashes[1] || len(hashes[0]) != 64 {
		t.Errorf("one request has the results %v", hashes)
	}
}

func TestArchiveWriteFails(t *testing.T) {
	a := openArchive(t, filepath.Join(t.TempDir(), "runs"))
	defer a.Registry.Close()
	r := newRunner(t, Options{Recorder: a})
	exec := newDescribed()
	started := mustStart(t, r, exec)
	taken := filepath.Join(a.Store.Dir(started.RunID), "taken") // something else in its place
	if err := os.MkdirAll(taken, 0o700); err != nil {
		t.Fatal(err)
	}
	exec.finish(Outcome{})
	s := waitFor(t, r, "failed")
	if s.Failure.Code != "ARTIFACT_WRITE_FAILED" || !strings.Contains(s.Error, "file already exists") {
		t.Error(describe(s))
	}
	rep, err := r.Results()
	if err != nil || rep.Results.FinalValue != "10000" || rep.Artifacts != "" {
		t.Errorf("%+v, %v", rep, err)
	}
	row, err := a.Registry.Get(t.Context(), started.RunID)
	if err != nil || row.Status != "failed" ||
		!strings.Contains(string(row.Payload), "ARTIFACT_WRITE_FAILED") {
		t.Errorf("%+v, %v", row, err)
	}
}

func TestArchiveRefuses(t *testing.T) {
	a := openArchive(t, filepath.Join(t.TempDir(), "runs"))
	r := newRunner(t, Options{Recorder: a})
	_, err := r.Start(t.Context(), backtest(), launching(&fakeExec{run: untilStopped}))
	wantCode(t, err, RunStartFailed)
	if err := a.Registry.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = r.Start(t.Context(), backtest(), launching(newDescribed()))
	wantCode(t, err, RunStartFailed)
	if s := r.Status(); s.Status != "idle" {
		t.Error(describe(s))
	}
	// The registry can also go away during a run.
	if _, err := a.Finish(t.Context(),
		Ended{Started: Started{RunID: "svc_x", Execution: newDescribed()}, Status: "completed",
			Results: newDescribed().Results()}); err == nil {
		t.Error("finished without a registry")
	}
}

func TestArchiveKeepsTheMode(t *testing.T) {
	a := openArchive(t, filepath.Join(t.TempDir(), "runs"))
	defer a.Registry.Close()
	hash := func(mode string) string {
		req := backtest()
		req.Mode = mode
		run, _, err := a.run(Started{RunID: "svc_x", Request: req, Execution: newDescribed()})
		if err != nil {
			t.Fatal(err)
		}
		h, err := run.Manifest.Request.Hash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if hash(ModeBacktest) == hash(ModePaper) {
		t.Error("a backtest and a paper run are one request")
	}
	if n := newDescribed().Results().WarmupRejections(); n != 1 {
		t.Errorf("%d warm-up rejections", n)
	}
}

// TestRecover: a run that a crash cut short keeps its request from the start, and gets the
// files of what was read back; a crash in between, or a second call, changes nothing.
func TestRecover(t *testing.T) {
	a := openArchive(t, filepath.Join(t.TempDir(), "runs"))
	defer a.Registry.Close()
	exec := newDescribed()
	started := Started{RunID: "svc_cut", Request: StartRequest{Mode: ModePaper},
		StartTime: time.UnixMilli(5000).UTC(), Execution: exec}
	if err := a.Begin(t.Context(), started); err != nil {
		t.Fatal(err)
	}
	if err := a.Begin(t.Context(), started); err == nil {
		t.Error("a second run of this id began")
	}
	if folders, err := a.Store.Sweep(); err != nil || len(folders) != 0 {
		t.Errorf("a folder that has begun is swept: %v %v", folders, err)
	}
	cut, err := a.Registry.InterruptService(t.Context())
	if err != nil || len(cut) != 1 {
		t.Fatal(cut, err)
	}
	report := func() *Report {
		return &Report{Results: exec.Results(), Snapshot: Snapshot{
			RunID: "svc_cut", Mode: ModePaper, EndTime: time.UnixMilli(9000).UTC(),
			Failure: &artifact.Failure{Code: CodeRunInterrupted},
		}}
	}
	nothing := report()
	nothing.Results = &artifact.Results{}
	if err := a.Recover(t.Context(), nothing); err != nil || nothing.Artifacts != "" {
		t.Errorf("of nothing: %q %v", nothing.Artifacts, err)
	}
	first := report()
	if err := a.Recover(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	m, payload, err := artifact.Verify(a.Store.Dir("svc_cut"))
	if err != nil || m.RequestHash != cut[0].RequestHash || m.TrialKey != cut[0].TrialKey ||
		m.Failure.Code != CodeRunInterrupted || m.Volatile.DurationMS != 4000 {
		t.Fatalf("%+v, %v", m, err)
	}
	for _, between := range []func() error{
		func() error { return nil },
		func() error {
			return a.Registry.Fail(t.Context(), cut[0],
				&artifact.Failure{Code: CodeRunInterrupted})
		}, // the row of before
	} {
		if err := between(); err != nil {
			t.Fatal(err)
		}
		again := report()
		if err := a.Recover(t.Context(), again); err != nil || again.Artifacts != "runs/svc_cut" ||
			again.Results.ResultHash != *m.ResultHash {
			t.Errorf("%q %q: %v", again.Artifacts, again.Results.ResultHash, err)
		}
		row, err := a.Registry.Get(t.Context(), "svc_cut")
		if err != nil || string(row.Payload) != string(payload) {
			t.Errorf("the row is %s: %v", row.Payload, err)
		}
	}
}
