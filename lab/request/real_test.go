package request_test

//ring:no-detector what is tested runs in other processes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/indicator"
	"github.com/assay-run/assay/plugin-sdk/serve"
)

// TestMain makes this binary the plugin where a host starts it under the strategy's name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "crosser" {
		serve.Strategy(sdk.Spec{Name: "crosser", Version: "1.0.0"}, newCrosser)
		return
	}
	os.Exit(m.Run())
}

type crosserParams struct {
	Fast int `param:"fast" default:"10" min:"1" max:"500" doc:"Candles in the fast average"`
	Slow int `param:"slow" default:"30" min:"2" max:"1000" doc:"Candles in the slow average"`
}

type crosser struct {
	fast, slow indicator.SMA
	warmup     int
}

func newCrosser(p crosserParams) (sdk.Strategy, error) {
	return &crosser{indicator.NewSMA(p.Fast), indicator.NewSMA(p.Slow), p.Slow}, nil
}

func (s *crosser) Warmup() int { return s.warmup }

func (s *crosser) OnCandle(v sdk.View) (sdk.Intents, error) {
	s.fast.Add(v.Candle().Close)
	s.slow.Add(v.Candle().Close)
	v.Publish("slow", s.slow.Value())
	switch {
	case v.Flat() && s.fast.CrossedAbove(&s.slow):
		return sdk.Buy(sdk.AllCash()), nil
	case v.Long() && s.fast.CrossedBelow(&s.slow):
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

// bench is a state directory with the crosser.
type bench struct {
	*request.Host
	question request.Request
}

func newBench(t *testing.T) bench {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "crosser")
	copyFile(t, self, program)
	state := filepath.Join(dir, "state")
	candles, err := candle.Open(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = candles.Close() })
	store := artifact.NewStore(filepath.Join(state, "runs"))
	runs, err := registry.Open(t.Context(), store, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runs.Close() })
	built, err := project.Finished(program)
	if err != nil {
		t.Fatal(err)
	}
	start, end := "2020-01-01T00:00:00.000Z", "2021-07-01T00:00:00.000Z"
	return bench{
		&request.Host{StateDir: state, Candles: candles, Artifacts: store, Registry: runs,
			Engine: artifact.Engine{Name: "test", SHA256: fmt.Sprintf("%064d", 1)}, Sandbox: "auto",
			Logger: hclog.NewNullLogger()},
		request.Request{
			Kind: artifact.KindRun, Slug: "crosser", FamilyID: "crosser", Plugin: built,
			Params: json.RawMessage(`{}`), Symbols: []string{"BTC/USDT"}, Timeframe: "1h",
			Exchange: "sample", Start: &start, End: &end, InitialCash: json.RawMessage("10000"),
			Execution: json.RawMessage("{}"),
			Splits:    split.Scheme{Scheme: split.Default}, Holding: 1, Seed: 1,
		},
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func (b bench) prepare(t *testing.T) *request.Prepared {
	t.Helper()
	p, err := b.Prepare(t.Context(), b.question)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// TestTrial: a trial plays the windows of the walk-forward and nothing else, is stored
// compact, known afterwards, and made full with the same result.
func TestTrial(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	base := b.prepare(t)
	trial, err := b.WithOverrides(base, func(q *request.Request) {
		q.Kind, q.Params = artifact.KindTrial, json.RawMessage(`{"fast":5,"slow":40}`)
	})
	if err != nil {
		t.Fatal(err)
	}
	if trial.Windows() != 5 || trial.RunID == base.RunID {
		t.Fatalf("%d windows, %s", trial.Windows(), trial.RunID)
	}
	if known, err := b.Known(ctx, trial); known != nil || err != nil {
		t.Fatalf("known before it was played: %v %v", known, err)
	}
	o := request.Options{Compact: true, Plan: request.Plan{ID: "plan_x", Index: 3}}
	first, err := b.Run(ctx, trial, o)
	if err != nil || first.Failure != nil {
		t.Fatalf("%v %+v", err, first)
	}
	if m := first.Metadata; m.ArtifactLevel != "compact" || m.PlanID == nil || *m.PlanID != "plan_x" ||
		*m.TrialIndex != 3 || m.Kind != "trial" {
		t.Errorf("%+v", m)
	}
	for _, f := range first.Metadata.Artifacts {
		if filepath.Base(f.Name) == artifact.DecisionsFile ||
			bytes.Contains([]byte(f.Name), []byte("validation")) ||
			bytes.Contains([]byte(f.Name), []byte("splits/test")) {
			t.Errorf("%s is there", f.Name)
		}
	}
	if n := len(first.Report.Splits); n != 10 || first.Report.WalkForward == nil ||
		first.Report.WalkForward.Windows != 5 {
		t.Errorf("%d splits, %+v", n, first.Report.WalkForward)
	}
	known, err := b.Known(ctx, trial)
	if err != nil || known == nil || known.Report.ResultHash != first.Report.ResultHash {
		t.Fatalf("%v %+v", err, known)
	}
	compact, err := os.ReadFile(filepath.Join(b.Artifacts.Dir(trial.RunID), "splits", "wf-00",
		"equity_curve.csv"))
	if err != nil {
		t.Fatal(err)
	}
	full, err := b.Upgrade(ctx, trial, request.Options{Plan: o.Plan})
	if err != nil || full.Metadata.ArtifactLevel != "full" ||
		full.Report.ResultHash != first.Report.ResultHash {
		t.Fatalf("%v %+v", err, full)
	}
	whole, err := os.ReadFile(filepath.Join(b.Artifacts.Dir(trial.RunID), "splits", "wf-00",
		"equity_curve.csv"))
	if err != nil || len(whole) < 10*len(compact) {
		t.Errorf("%d bytes compact, %d in full: %v", len(compact), len(whole), err)
	}
	days := bytes.Count(compact, []byte("\n"))
	for i, line := range bytes.Split(bytes.TrimSpace(compact), []byte("\n")) {
		if !bytes.Contains(whole, line) {
			t.Errorf("line %d of %d, %s, is not in the full curve", i, days, line)
		}
	}
	rung, err := b.WithOverrides(trial, func(q *request.Request) { q.Splits.First = 2 })
	if err != nil || rung.Windows() != 2 || rung.RunID == trial.RunID {
		t.Errorf("a rung of two windows: %v, %d, %s", err, rung.Windows(), rung.RunID)
	}
	holdout := b.question
	holdout.Splits.Scheme, holdout.Kind = split.Holdout, artifact.KindTrial
	if _, err := b.Prepare(ctx, holdout); err == nil {
		t.Error("a trial without windows was accepted")
	}
}

// TestReplay: the same play has the same decisions however it is driven, and other costs,
// delays and candles are really other ones.
func TestReplay(t *testing.T) {
	b := newBench(t)
	p := b.prepare(t)
	n := p.Candles() * 8 / 10
	list := []request.Replay{
		{ID: "search", To: n, Lines: true, Series: true, Books: true},
		{ID: "search", To: n, Lines: true, Drive: run.Drive{Chunked: true}},
		{ID: "search", To: n, Lines: true, Drive: run.Drive{Lockstep: true}},
		{ID: "search", To: n, Lines: true, Drive: run.Drive{Procs: 1}},
		{ID: "search", To: n, CostTenths: 15, Books: true},
		{ID: "search", To: n, DelayCandles: 1, Books: true},
		{ID: "search", To: n, Params: json.RawMessage(`{"fast":11,"slow":30}`), Books: true},
	}
	got := make([]*request.Replayed, len(list))
	err := b.Replay(context.Background(), p, list,
		request.ReplayOptions{Workers: 2, Plain: true, Done: func(i int, r *request.Replayed) error {
			got[i] = r
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	base := got[0]
	if base.Failure != nil || len(base.Lines) == 0 || len(base.Results.Annotations) != 1 {
		t.Fatalf("%+v", base)
	}
	for i, r := range got[:4] {
		if r.Results.DecisionHash != base.Results.DecisionHash || !bytes.Equal(r.Lines, base.Lines) {
			t.Errorf("replay %d decided otherwise", i)
		}
	}
	for i, r := range got[4:] {
		if r.Results.ResultHash == base.Results.ResultHash &&
			r.Results.FinalValue == base.Results.FinalValue {
			t.Errorf("replay %d is the base", i+4)
		}
	}
	for i, r := range got {
		if r.Trades == 0 || r.Books == (r.Results.Fills == nil) {
			t.Errorf("replay %d has not the books that were asked for", i)
		}
		travels(t, r)
	}
}

// travels wants that a replay is read from its files as it was.
func travels(t *testing.T, r *request.Replayed) {
	t.Helper()
	files, err := r.Pack()
	if err != nil {
		t.Fatal(err)
	}
	back, err := request.UnpackReplayed(files)
	if err != nil {
		t.Fatal(err)
	}
	for what, pair := range map[string][2]any{
		"input": {r.Input, back.Input}, "fills": {r.Results.Fills, back.Results.Fills},
		"trades": {r.Results.Trades, back.Results.Trades}, "lines": {r.Lines, back.Lines},
		"series": {r.Published, back.Published}, "lead": {r.Lead, back.Lead}, "short": {r.Short, back.Short},
		"count": {r.Trades, back.Trades}, "sandbox": {r.Sandbox, back.Sandbox},
		"hash": {r.Results.DecisionHash, back.Results.DecisionHash},
		"cash": {r.Results.InitialCash + r.Results.FinalValue, back.Results.InitialCash + back.Results.FinalValue},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %.600v, not %.600v", what, pair[1], pair[0])
		}
	}
	for _, v := range r.Metrics {
		a, defined := r.Metrics.Get(v.Key)
		if b, also := back.Metrics.Get(v.Key); a != b || defined != also {
			t.Errorf("%s is %v, not %v", v.Key, b, a)
		}
	}
	if same, err := request.SameReplay(r, back); err != nil || !same {
		t.Error("it is another one", err)
	}
}

// TestPrepareRefusesWhatDoesNotFit: what the program does not do is refused before anything is executed.
func TestPrepareRefusesWhatDoesNotFit(t *testing.T) {
	b := newBench(t)
	b.question.Symbols, b.question.Timeframe = []string{"BTC/USDT", "ETH/USDT"}, "1d"
	_, err := b.Prepare(t.Context(), b.question)
	var refused *request.Error
	if !errors.As(err, &refused) || refused.Code != "UNSUPPORTED_SYMBOL" ||
		!strings.Contains(err.Error(), "takes 1 to 1 symbols, not 2") {
		t.Errorf("got %v", err)
	}
}
