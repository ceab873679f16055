package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/registry"
)

// TestRowsOfEveryKind: what is named is shown, with nulls where there is nothing, be it
// from the time before the registry, still running, failed or of the service.
func TestRowsOfEveryKind(t *testing.T) {
	store := artifact.NewStore(t.TempDir())
	legacy := `{"runs":[{"run_id":"old_1","slug":"sma_cross","anything":{"goes":1}}]}`
	if err := os.WriteFile(filepath.Join(store.Root(), "metadata_index.json"), []byte(legacy),
		0o600); err != nil {
		t.Fatal(err)
	}
	reg, err := registry.Open(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	w := &world{t: t, store: store, reg: reg}
	old, err := reg.Get(t.Context(), "old_1")
	if err != nil {
		t.Fatal(err)
	}
	w.add(spec{id: "run_a", slug: old.Slug, params: `{"fast":1}`, noise: 1})
	w.add(spec{id: "run_failed", slug: old.Slug, params: `{"fast":2}`, noise: 2,
		change: func(r *artifact.Run) {
			r.Status, r.Failure = artifact.StatusFailed, &artifact.Failure{Code: "PLUGIN_CRASHED"}
			r.Splits[2].Failed, r.Evaluation.WalkForward = true, nil
		}})
	w.add(spec{id: "svc_a", slug: old.Slug, params: `{"fast":3}`, noise: 3, change: func(r *artifact.Run) {
		r.Manifest.Request.Kind, r.Origin, r.Evaluation = artifact.KindService, artifact.OriginService, nil
		r.Splits = r.Splits[:1]
		r.Splits[0].ID = artifact.FullSplitID
		r.Manifest.Splits.Splits = []artifact.SplitRange{{ID: artifact.FullSplitID, Role: "full", To: 360}}
	}})
	running, err := artifact.Begun(w.run(spec{id: "run_running", slug: old.Slug, params: `{"fast":4}`}))
	if err != nil {
		t.Fatal(err)
	}
	if err := reg.Begin(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	c := w.compare(Options{Slug: old.Slug,
		Runs: []string{"run_running", "svc_a", "run_failed", "run_a", "old_1"}, Baseline: "run_a"})
	for id, want := range map[string]struct{ kind, status string }{
		"old_1": {"legacy", old.Status}, "run_a": {"run", "completed"}, "run_failed": {"run", "failed"},
		"svc_a":       {"service", "completed"},
		"run_running": {"run", "running"},
	} {
		r := c.must(t, id)
		if r.Kind != want.kind || r.Status != want.status ||
			(r.Undefined["total_return"] == "") != (id == "run_a") {
			t.Errorf("%s: %s, %s, %v", id, r.Kind, r.Status, r.Undefined)
		}
		if (r.Provenance.CompletedAt == nil) != (id == "run_running" || id == "old_1" &&
			old.CompletedAt == "") {
			t.Errorf("%s completed at %v", id, r.Provenance.CompletedAt)
		}
	}
	for _, p := range c.Pairs {
		if p.MeanDifference != nil || p.Undefined["mean_difference"] != metric.NotApplicable {
			t.Errorf("%+v", p)
		}
	}
	c = w.compare(Options{Slug: old.Slug, Runs: []string{"run_failed", "run_a"}, Split: "wf-00"})
	if p := c.Pairs[0]; p.MeanDifference != nil || p.Days != 0 {
		t.Errorf("a split that failed is compared: %+v", p)
	}
	for _, write := range []func() error{
		func() error {
			return c.WriteCSV(&bytes.Buffer{})
		}, func() error { return c.WriteMarkdown(&bytes.Buffer{}) },
	} {
		if err := write(); err != nil {
			t.Error(err)
		}
	}
}

// TestOneOrManyProcessors give the same bytes, and so does asking again.
func TestOneOrManyProcessors(t *testing.T) {
	w := three(t)
	w.add(spec{id: "run_d", params: `{"x":1}`, noise: 4}, spec{id: "run_e", params: `{"x":2}`, noise: 5})
	var want []byte
	for _, n := range []int{1, 4, 1} {
		before := runtime.GOMAXPROCS(n)
		text, err := json.Marshal(w.compare(Options{}))
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = text
		}
		if !bytes.Equal(text, want) {
			t.Errorf("with %d processors another answer", n)
		}
	}
}

func TestInterrupted(t *testing.T) {
	w := three(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compare(ctx, w.store, w.reg, Options{Slug: "sma_cross"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestCompactCurves: trials keep the first row and one per day; their returns are those
// of the whole curve.
func TestCompactCurves(t *testing.T) {
	res, in := spec{noise: 1, drift: 0.001}.results(t, 3, 40)
	whole, err := metric.MainReturns(in)
	if err != nil {
		t.Fatal(err)
	}
	thin := &artifact.EquityCurve{}
	for _, i := range slices.Insert(metric.DayEnds(in.Curves[0].OpenTime), 0, 0) {
		thin.Time, thin.Equity = append(thin.Time, res.Equity.Time[i]), append(thin.Equity, res.Equity.Equity[i])
	}
	in.Curves = []metric.Curve{windowOf(thin, in.Timeframe)}
	compact, err := metric.MainReturns(in)
	if err != nil || !slices.Equal(compact.Time, whole.Time) || compact.Sample != whole.Sample {
		t.Fatalf("%v: %v, not %v", err, compact.Time, whole.Time)
	}
	for i := range whole.Return {
		if math.Abs(compact.Return[i]-whole.Return[i]) > 1e-15 {
			t.Errorf("return %d is %v, not %v", i, compact.Return[i], whole.Return[i])
		}
	}
}

// TestContaminatedValidation is said where its numbers stand.
func TestContaminatedValidation(t *testing.T) {
	w := newWorld(t)
	w.add(spec{id: "run_a", params: "{}", noise: 1, change: func(r *artifact.Run) {
		r.Evaluation.Contaminated = true
		r.Splits[0].ID = "validation"
		r.Manifest.Splits.Splits[0].ID, r.Manifest.Splits.Splits[0].Role = "validation", "validation"
	}})
	if s := text(w.compare(Options{})); !strings.Contains(s, "ok, contaminated") {
		t.Errorf("%s", s)
	}
}

// TestTableShowsTheJSON: the numbers of the table are those of the JSON in the units
// that it names.
func TestTableShowsTheJSON(t *testing.T) {
	c := &Comparison{Slug: "x", Baseline: "run_a", Split: "train",
		Comparability: Comparability{Comparable: true}}
	values := func(ret, sharpe float64) metric.Values {
		return metric.Values{{Key: "total_return", Number: ret}, {Key: "sharpe_ratio", Number: sharpe},
			{Key: "sharpe_stderr", Number: 0.5}, {Key: "win_rate", Reason: metric.NoTrades}}
	}
	for i, id := range []string{"run_a", "run_b"} {
		c.Runs = append(c.Runs,
			Run{RunID: id, Comparable: i == 0,
				Splits: []SplitMetrics{{ID: "train", Role: "train", Status: "ok",
					Metrics: values(0.1234, 1.5), Delta: values(-0.05, 0.25)}}})
	}
	mean, needed := 0.00012, int64(812)
	c.Pairs = []Pair{{RunID: "run_b", Days: 100, MeanDifference: &mean, CI95: &[2]float64{-0.0001, 0.0003},
		DaysNeeded: &needed, SmallestP: 0.001}}
	s := text(c)
	for _, line := range []string{
		"  RUN | RETURN | SHARPE | WIN RATE | STATUS\n",
		"* run_a | +12.34 % | 1.50 +- 0.50 | n/a | ok\n",
		"~ run_b | +12.34 % (-5.00) | 1.50 +- 0.50 (+0.25) | n/a | ok\n",
		"~ run_b | 100 | +0.0120 % | -0.0100 .. +0.0300 % | n/a | n/a | 812\n",
		"run_b: only 100 days, too few to rely on\n",
		"smallest p 0.001\n",
	} {
		if !strings.Contains(s, line) {
			t.Errorf("%q is not in\n%s", line, s)
		}
	}
}
