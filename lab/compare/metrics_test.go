package compare

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
)

// TestMetricsAreThoseOfTheReport for the walk-forward and for a split, with the
// difference to the baseline.
func TestMetricsAreThoseOfTheReport(t *testing.T) {
	w := three(t)
	rep, err := artifact.ReadReport(w.store.Dir("run_better"))
	if err != nil {
		t.Fatal(err)
	}
	base, err := artifact.ReadReport(w.store.Dir("run_base"))
	if err != nil {
		t.Fatal(err)
	}
	for id, values := range map[string][2]metric.Values{
		"":      {rep.WalkForward.Metrics, base.WalkForward.Metrics},
		"train": {rep.Splits[0].Metrics, base.Splits[0].Metrics},
		"wf-01": {rep.Splits[3].Metrics, base.Splits[3].Metrics},
	} {
		c := w.compare(Options{Split: id})
		r := c.must(t, "run_better")
		if id == "" {
			id = "walk_forward"
		}
		if c.Split != id || len(r.Metrics) != 9 || len(r.Splits) != 5 || r.Splits[0].ID != "walk_forward" {
			t.Fatalf("%s: %+v", c.Split, r)
		}
		for _, v := range r.Metrics {
			if v.Key == feeShare {
				continue
			}
			want, _ := values[0].Get(v.Key)
			from, _ := values[1].Get(v.Key)
			delta, _ := r.Delta.Get(v.Key)
			if v.Number != want || math.Abs(delta-(want-from)) > 1e-9 {
				t.Errorf("%s of %s: %v by %v, want %v from %v", v.Key, id, v.Number, delta, want, from)
			}
		}
	}
}

// TestFeeShare: 80 trades of the walk-forward win 20 and lose 10 in turn after 100 of
// fees, so the gross profit was 500.
func TestFeeShare(t *testing.T) {
	w := three(t)
	if x, has := w.compare(Options{}).must(t, "run_base").Metrics.Get(feeShare); !has ||
		math.Abs(x-0.2) > 1e-12 {
		t.Errorf("%v, %v", x, has)
	}
	m := measured{values: metric.Values{{Key: "fees_paid", Number: 10}, {Key: "total_trades", Number: 4},
		{Key: "expectancy", Number: -5}}}
	if v := m.get(feeShare); v.Reason != metric.NotApplicable {
		t.Errorf("a gross loss has the fee share %+v", v)
	}
	m.values[2] = metric.Value{Key: "expectancy", Reason: metric.Unknown}
	m.why = map[string]metric.Reason{"expectancy": metric.NoTrades}
	if v := m.get(feeShare); v.Reason != metric.NoTrades {
		t.Errorf("without trades %+v", v)
	}
}

// TestUndefinedHasAReason: the estimates of a run with too few trades are null in the
// metrics and in every difference, with the reason beside them.
func TestUndefinedHasAReason(t *testing.T) {
	w := newWorld(t)
	w.add(spec{id: "run_a", params: "{}", noise: 1},
		spec{id: "run_few", params: `{"x":1}`, noise: 2, trades: 5})
	c := w.compare(Options{})
	few, base := c.must(t, "run_few"), c.must(t, "run_a")
	if _, has := few.Metrics.Get("sharpe_ratio"); has ||
		few.Undefined["sharpe_ratio"] != metric.Insufficient {
		t.Errorf("%+v", few)
	}
	if x, has := few.Metrics.Get("total_trades"); !has || x != 10 {
		t.Errorf("total_trades %v", x)
	}
	if _, has := few.Delta.Get("sharpe_ratio"); has || len(base.Undefined) != 0 {
		t.Errorf("%+v, %+v", few.Delta, base.Undefined)
	}
	if p := c.Pairs[0]; p.PSharpeBetter != nil || p.Undefined["days_needed"] != metric.Insufficient ||
		p.CI95 == nil {
		t.Errorf("%+v", p)
	}
	if few.Splits[0].Status != "insufficient" || base.Splits[0].Status != "ok" {
		t.Errorf("%s, %s", few.Splits[0].Status, base.Splits[0].Status)
	}
}

func TestSortAndTop(t *testing.T) {
	w := three(t)
	w.add(spec{id: "run_few", params: `{"x":1}`, noise: 2, trades: 5})
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "run_base run_better run_few run_loser"},
		{Options{Sort: "sharpe_ratio"}, "run_better run_base run_loser run_few"},
		{Options{Sort: "max_drawdown"}, "run_better run_base run_few run_loser"},
		{Options{Sort: "total_trades"}, "run_base run_better run_loser run_few"},
		{Options{Sort: "sharpe_ratio", Top: 1}, "run_better"},
		{Options{Sort: "sharpe_ratio", Top: 9}, "run_better run_base run_loser run_few"},
		{Options{Sort: "sortino_ratio", Top: 2, Split: "train"}, "run_better run_base"},
	} {
		got := w.compare(c.o)
		if s := strings.Join(ids(got), " "); s != c.want || got.Baseline != "run_base" {
			t.Errorf("%+v: %s, baseline %s", c.o, s, got.Baseline)
		}
	}
	c := w.compare(Options{Sort: "sortino_ratio", Top: 1})
	if _, has := c.Runs[0].Metrics.Get("sortino_ratio"); !has || !strings.Contains(text(c), "SORTINO_RATIO") {
		t.Errorf("what is sorted by is not shown: %+v", c.Runs[0].Metrics)
	}
	if len(c.Pairs) != 1 || c.Pairs[0].RunID != "run_better" || len(c.Differs) != 1 ||
		len(c.Differs[0].Values) != 2 {
		t.Errorf("a baseline that is not shown is still compared with: %+v, %+v", c.Pairs, c.Differs)
	}
}

// TestBetterIsAnOrder: antisymmetric and transitive, undefined values last, whatever
// the metric.
func TestBetterIsAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom(Metrics()).Draw(t, "key")
		values := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) metric.Value {
			v := metric.Value{Key: key, Number: float64(rapid.IntRange(-2, 2).Draw(t, "x"))}
			if rapid.IntRange(0, 3).Draw(t, "undefined") == 0 {
				v.Reason = metric.Insufficient
			}
			return v
		}), 2, 8).Draw(t, "values")
		for _, a := range values {
			for _, b := range values {
				if better(a, b) != -better(b, a) {
					t.Fatalf("%v and %v", a, b)
				}
			}
		}
		slices.SortFunc(values, better)
		for i := 1; i < len(values); i++ {
			a, b := values[i-1], values[i]
			if a.Reason != "" && b.Reason == "" {
				t.Fatalf("undefined first: %v", values)
			}
			if a.Reason == "" && b.Reason == "" && a.Number != b.Number &&
				(a.Number < b.Number) != lessIsBetter(key) {
				t.Fatalf("%s: %v before %v", key, a.Number, b.Number)
			}
		}
	})
}

// TestTheSplitThatThereIs: without a walk-forward the comparison takes what the runs
// have, and names what there is to somebody who wants something else.
func TestTheSplitThatThereIs(t *testing.T) {
	w := newWorld(t)
	only := func(r *artifact.Run) {
		r.Splits = r.Splits[:1]
		r.Evaluation.WalkForward = nil
		r.Splits[0].ID = artifact.FullSplitID
		r.Manifest.Splits.Splits = []artifact.SplitRange{{ID: artifact.FullSplitID, Role: "full", To: 360}}
	}
	w.add(spec{id: "run_a", params: "{}", noise: 1, change: only},
		spec{id: "run_b", params: `{"x":1}`, noise: 2, change: only})
	c := w.compare(Options{})
	if c.Split != "full" || c.Pairs[0].Days != 59 {
		t.Errorf("%s, %+v", c.Split, c.Pairs)
	}
	if _, err := w.try(Options{Split: "walk_forward"}); err == nil ||
		!strings.Contains(err.Error(), "there are full") {
		t.Errorf("got %v", err)
	}
}
