package selection

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/lab/project"
	"github.com/assay-run/assay/lab/request"
	"github.com/assay-run/assay/lab/split"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
	"github.com/assay-run/assay/plugin-sdk/serve"
)

// TestMain makes the test binary the sandbox's shim and the plugin, by its name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "ticker" {
		serve.Strategy(sdk.Spec{Name: "ticker"}, func(p tickerParams) (sdk.Strategy, error) {
			return &ticker{p}, nil
		})
		exit(0)
	}
	os.Exit(m.Run())
}

type tickerParams struct {
	Every int `param:"every" default:"9" min:"2" max:"5000" doc:"Candles of a round trip"`
	Hold  int `param:"hold" default:"4" min:"1" max:"4999" doc:"Candles with a position"`
}

// ticker buys at every so many candles and holds for some.
type ticker struct{ p tickerParams }

func (s *ticker) OnCandle(v sdk.View) (sdk.Intents, error) {
	switch at := int(v.Index()) % s.p.Every; {
	case at == 0 && v.Flat():
		return sdk.Buy(sdk.CashFraction(0.5)), nil
	case at == s.p.Hold && v.Long():
		return sdk.ClosePosition(), nil
	}
	return nil, nil
}

// testLab is a state directory in which requests are answered.
type testLab struct {
	t    *testing.T
	host *request.Host
	ask  request.Request
}

func newTestLab(t *testing.T) *testLab {
	t.Helper()
	dir := t.TempDir()
	candles, err := candle.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	set, err := candles.Put(t.Context(),
		candle.PutRequest{Exchange: "test", Series: sdktest.Synth(1, 4000, epoch.Time(), time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	store := artifact.NewStore(filepath.Join(dir, "runs"))
	reg, err := registry.Open(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(reg.Close(), candles.Close()); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "ticker")
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	built, err := project.Finished(program)
	if err != nil {
		t.Fatal(err)
	}
	return &testLab{t, &request.Host{
		StateDir: dir, Candles: candles, Artifacts: store, Registry: reg,
		Engine:  artifact.Engine{Name: "test", SHA256: strings.Repeat("e", 64)},
		Sandbox: sandbox.Off, Logger: hclog.NewNullLogger(),
	}, request.Request{
		Kind: artifact.KindRun, Slug: "ticker", FamilyID: "ticker", Plugin: built,
		Symbols: []string{string(set.Symbol)}, Timeframe: "1h", Exchange: "test",
		InitialCash: json.RawMessage("10000"), Execution: json.RawMessage("{}"),
		Splits: split.Scheme{Scheme: split.Default}, Holding: 1, Seed: 1,
	}}
}

// run answers the request with other parameters.
func (th *testLab) run(every, hold int, change func(*request.Request), compact bool) *request.Result {
	th.t.Helper()
	q := th.ask
	q.Params = json.RawMessage(fmt.Sprintf(`{"every":%d,"hold":%d}`, every, hold))
	if change != nil {
		change(&q)
	}
	p, err := th.host.Prepare(th.t.Context(), q)
	if err != nil {
		th.t.Fatal(err)
	}
	defer p.Close()
	a, err := th.host.Run(th.t.Context(), p, request.Options{Compact: compact})
	if err != nil || a.Failure != nil {
		th.t.Fatal(err, a)
	}
	return a
}

func (th *testLab) ledger(runID string) *TrialList {
	th.t.Helper()
	l, err := ReadTrials(th.t.Context(), th.host.Registry, th.host.Artifacts, runID)
	if err != nil {
		th.t.Fatal(err)
	}
	return l
}

// damage changes the last byte of a file of a run.
func (th *testLab) damage(runID, name string) {
	th.t.Helper()
	path := filepath.Join(th.host.Artifacts.Dir(runID), filepath.FromSlash(name))
	text, err := os.ReadFile(path)
	if err == nil {
		text[len(text)-2] ^= 1
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		th.t.Fatal(err)
	}
}

// TestRealRuns counts and judges what real plugins have left behind: full runs, a compact
// trial, and a second run of one trial under another seed.
func TestRealRuns(t *testing.T) {
	ring.Slow(t, "it plays five requests with real plugins")
	th := newTestLab(t)
	other := th.run(7, 3, nil, false)
	reseeded := th.run(7, 3, func(q *request.Request) { q.Seed = 2 }, false)
	// the rung of a search
	th.run(12, 5, func(q *request.Request) { q.Kind, q.Splits.First = artifact.KindTrial, 2 }, true)
	trial := th.run(12, 5, func(q *request.Request) { q.Kind = artifact.KindTrial }, true)
	th.run(11, 5, func(q *request.Request) { q.FamilyID = "another" }, false)
	judged := th.run(9, 4, nil, false)

	l := th.ledger(judged.RunID)
	if len(l.Trials) != 4 || l.FamilyTrials() != 3 || l.Trials[l.Judged].RunID != judged.RunID ||
		l.Why != "" || l.PeriodsPerYear != 365 || len(l.Warnings) != 0 {
		t.Fatalf("%+v", l)
	}
	for _, a := range []*request.Result{other, trial, judged} {
		at := slices.IndexFunc(l.Trials, func(x Trial) bool { return x.Key == a.Metadata.TrialKey })
		if a != other && l.Trials[at].RunID != a.RunID {
			t.Errorf("%s stands for %s", l.Trials[at].RunID, a.RunID)
		}
		x, why := sampleOf(l.Trials[at].Series.Return)
		if want, defined := a.Report.WalkForward.Metrics.Get("sharpe_ratio"); !defined || why != "" ||
			math.Abs(l.annualise(x.ratio)-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s: Sharpe ratio %v of the series, %v of the report", a.RunID, l.annualise(x.ratio),
				want)
		}
	}
	// Whatever else has been run with its parameters, a judged run stands for itself.
	for _, a := range []*request.Result{other, reseeded} {
		if of := th.ledger(a.RunID); of.Trials[of.Judged].RunID != a.RunID || len(of.Trials) != 4 ||
			of.Again != 1 {
			t.Errorf("%s is judged as %s, beside %d others", a.RunID, of.Trials[of.Judged].RunID, of.Again)
		}
	}
	if l.Again != 0 || th.ledger(trial.RunID).Again != 1 { // the rung has other splits
		t.Errorf("%d runs of the judged key besides", l.Again)
	}
	holding := NewCandles(th.host.Candles)
	r, err := l.Select(t.Context(), holding, 1)
	if err != nil || r.Series != 4 || r.T != l.countDays() || r.Selection.NTrials != 4 ||
		r.Selection.NTrialsFamily != 3 || len(r.Warnings) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	checkNulls(t, &r.Selection)
	if r.Verdict.Verdict == Pass || r.Selection.DSRMax == nil || r.Selection.RCP == nil {
		t.Errorf("%d days of a random walk: %+v", r.T, r)
	}
	th.digests(l, judged, other, holding)
}

// digests holds that the ledger depends on what was tried and on nothing else.
func (th *testLab) digests(l *TrialList, judged, other *request.Result, holding Holding) {
	t, before := th.t, l.Digest()
	if before.NTrials != 4 || before.NTrialsFamily != 3 || before.TrialSRVariance == nil ||
		before.TestPeeks != 0 || before.PostPeek {
		t.Errorf("%+v", before)
	}
	again, err := th.ledger(judged.RunID).Select(t.Context(), holding, 1)
	first, err2 := l.Select(t.Context(), holding, 1)
	if err != nil || err2 != nil || !reflect.DeepEqual(first, again) ||
		!reflect.DeepEqual(th.ledger(judged.RunID).Digest(), before) {
		t.Errorf("%+v, again %+v", first, again)
	}
	peek := registry.Peek{RunID: judged.RunID, FamilyID: "ticker", Command: "run", Author: "eve"}
	if err := th.host.Registry.Peek(t.Context(), peek); err != nil {
		t.Fatal(err)
	}
	if d := th.ledger(judged.RunID).Digest(); d.TestPeeks != 1 || d.PostPeek ||
		d.ReturnsSHA256 != before.ReturnsSHA256 {
		t.Errorf("%+v", d)
	}
	// A trial stays counted with its returns when its files are changed, and when they go.
	th.damage(other.RunID, "splits/wf-02/equity_curve.csv")
	for _, id := range []string{other.RunID, th.ledger(judged.RunID).Trials[0].RunID} {
		if id != judged.RunID {
			if err := os.RemoveAll(th.host.Artifacts.Dir(id)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if d := th.ledger(judged.RunID).Digest(); d.ReturnsSHA256 != before.ReturnsSHA256 ||
		d.NEff != before.NEff || d.NTrials != 4 {
		t.Errorf("%+v, before %+v", d, before)
	}
	if err := os.Remove(filepath.Join(th.host.Artifacts.Dir(judged.RunID), "splits", "wf-04",
		"equity_curve.csv")); err != nil {
		t.Fatal(err)
	}
	var changed *artifact.MismatchError
	if _, err := ReadTrials(t.Context(), th.host.Registry, th.host.Artifacts, judged.RunID); !errors.As(err,
		&changed) || changed.RunID != judged.RunID || !strings.Contains(err.Error(), "is missing") {
		t.Error(err)
	}
	if _, err := ReadTrials(t.Context(), th.host.Registry, th.host.Artifacts, "run_unknown"); !errors.Is(err,
		registry.ErrNotFound) {
		t.Error(err)
	}
}

// A trial whose files had been changed before they were read counts as one more
// independent trial, unless a run with another seed stands in for it.
func TestChangedFilesDoNotHideATrial(t *testing.T) {
	ring.Slow(t, "it plays three requests with real plugins")
	th := newTestLab(t)
	other := th.run(7, 3, nil, false)
	reseeded := th.run(7, 3, func(q *request.Request) { q.Seed = 2 }, false)
	judged := th.run(9, 4, nil, false)
	th.damage(other.RunID, "splits/wf-02/equity_curve.csv")
	stand := func(l *TrialList) Trial {
		return l.Trials[slices.IndexFunc(l.Trials, func(x Trial) bool {
			return x.Key == other.Metadata.TrialKey
		})]
	}
	l := th.ledger(judged.RunID)
	if x := stand(l); x.Series == nil || x.RunID != reseeded.RunID || len(l.Warnings) != 1 {
		t.Errorf("%+v, %+v", x, l.Warnings)
	}
	before := l.Digest()
	for _, id := range []string{other.RunID, reseeded.RunID} {
		if err := th.host.Registry.KeepDaily(t.Context(),
			[]registry.Daily{{RunID: id, Source: "of other files"}}); err != nil {
			t.Fatal(err)
		}
	}
	th.damage(reseeded.RunID, "splits/wf-00/equity_curve.csv")
	l = th.ledger(judged.RunID)
	if len(l.Trials) != 2 || stand(l).Series != nil || len(l.Warnings) != 2 ||
		l.Warnings[0].Code != CodeTrialUnreadable ||
		!strings.Contains(l.Warnings[0].Message, "has other content") {
		t.Errorf("%+v", l)
	}
	if d := l.Digest(); d.NTrials != 2 || d.ReturnsSHA256 == before.ReturnsSHA256 || !(d.NEff > before.NEff) {
		t.Errorf("%+v, before %+v", d, before)
	}
}

// A run without walk-forward windows counts as a trial and cannot be judged, nor can one
// with too few trades.
func TestRealRunsWithoutEnough(t *testing.T) {
	ring.Slow(t, "it plays two requests with real plugins")
	th := newTestLab(t)
	whole := th.run(9, 4, func(q *request.Request) { q.Splits.Scheme = split.None }, false)
	rare := th.run(300, 4, nil, false)
	for runID, want := range map[string]string{whole.RunID: "not_applicable", rare.RunID: "insufficient"} {
		l := th.ledger(runID)
		r, err := l.Select(t.Context(), NewCandles(th.host.Candles), 1)
		if err != nil || r.Selection.NTrials != 2 ||
			r.Verdict != (Verdict{Verdict: Inconclusive, ReasonCode: want}) {
			t.Errorf("%s: %+v, %v", runID, r, err)
		}
		checkNulls(t, &r.Selection)
	}
}
